package forward

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/source"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

const now = andon.Time(1_764_851_696_000_000) // 2025-12-04T12:34:56Z

// server is a server that answers what answer says, and keeps what was sent and taken.
type server struct {
	*httptest.Server
	answer func(w http.ResponseWriter, lines []string) (taken bool)
	taken  chan string
}

func newServer(t *testing.T, answer func(http.ResponseWriter, []string) bool) *server {
	s := &server{answer: answer, taken: make(chan string, 1_000)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := zstd.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		defer body.Close()
		text, err := io.ReadAll(body)
		if err != nil || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("got %q, %v, %v", text, err, r.Header)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if !s.answer(w, lines) {
			return
		}
		for _, line := range lines {
			s.taken <- line
		}
		fmt.Fprintf(w, `{"accepted":%d,"rejected":[]}`, len(lines))
	}))
	t.Cleanup(s.Close)
	return s
}

// gateway is a queue in memory that is sent until the test ends.
type gateway struct {
	*testing.T
	*Queue
	refused *source.Rejections
	stop    func()
}

func newGateway(t *testing.T, s *server, store andon.Store) *gateway {
	c := &Config{To: s.URL, Tenant: "default", MaxBytes: 1 << 20}
	q, err := Open(t.Context(), store, c, "secret", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	clock := func() andon.Time { return now }
	g := &gateway{T: t, Queue: q, refused: &source.Rejections{Store: store, Now: clock, Keep: 100}}
	w := source.New(source.Options{
		Name: "forward", Tenant: "default", Intake: q, Refused: g.refused,
		Metrics: source.NewMetrics(prometheus.NewRegistry()),
		Log:     slog.New(slog.DiscardHandler), Now: clock,
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	g.stop = func() { stop(); <-ended }
	go func() {
		defer close(ended)
		if err := q.Send(ctx, w); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(g.stop)
	return g
}

// append queues events of devices, one after the other.
func (g *gateway) append(devices ...andon.DeviceID) {
	g.Helper()
	for i, device := range devices {
		e := andon.Event{Device: device, State: "NORMAL", Time: now + andon.Time(i)}
		if err := g.Append(g.Context(), "default", now, []andon.Event{e}); err != nil {
			g.Fatal(err)
		}
	}
}

// expect waits for the next events that are taken.
func (g *gateway) expect(s *server, devices ...string) {
	g.Helper()
	for _, want := range devices {
		select {
		case line := <-s.taken:
			if !strings.Contains(line, `"device":"`+want+`"`) {
				g.Errorf("the next is %s, want one of %s", line, want)
			}
		case <-time.After(10 * time.Second):
			g.Fatalf("%s was not sent", want)
		}
	}
}

// expectTrouble waits until the server did not take a request.
func (g *gateway) expectTrouble() {
	g.Helper()
	for end := time.After(time.Minute); g.State().Trouble == nil; {
		select {
		case <-end:
			g.Fatal("no trouble is told")
		case <-time.After(time.Millisecond):
		}
	}
}

func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"detail":%q}`, detail)
}

// TestAnswerAboutEntries: a request that the server refuses as a whole is sent in parts, down to
// the entry that is at fault.
func TestAnswerAboutEntries(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge} {
		s := newServer(t, func(w http.ResponseWriter, lines []string) bool {
			bad := strings.Contains(strings.Join(lines, ""), `"bad"`)
			if bad {
				problem(w, status, "not this one")
			}
			return !bad
		})
		g := newGateway(t, s, memstore.New())
		g.append("a", "b", "bad", "c", "d")
		g.expect(s, "a", "b", "c", "d")
		g.Flush(t.Context())
		list, err := g.refused.List(t.Context(), "", andon.Span{}, "", 10)
		if err != nil || len(list) != 1 || list[0].Reason != "not this one" {
			t.Errorf("%d: refused are %+v, %v", status, list, err)
		}
	}
}

// TestAnswerAboutGateway: what is no fault of an entry is waited out, whoever answers so. That the
// server refuses the gateway is told.
func TestAnswerAboutGateway(t *testing.T) {
	for _, status := range []int{301, 308, 400, 401, 403, 404, 413, 500, 502, 507} {
		ok := atomic.Bool{}
		s := newServer(t, func(w http.ResponseWriter, _ []string) bool {
			if ok.Load() {
				return true
			}
			w.Header().Set("Location", "/somewhere")
			w.WriteHeader(status) // as a proxy may: no problem of Andon's
			fmt.Fprint(w, "<html>")
			return false
		})
		g := newGateway(t, s, memstore.New())
		g.append("a", "b")
		g.expectTrouble()
		if refused := g.State().Refused; refused != (status < 500) {
			t.Errorf("%d: refused is %v", status, refused)
		}
		ok.Store(true)
		g.expect(s, "a", "b")
	}
}

// damaged is a store in which some records can't be read.
type damaged struct {
	andon.Store
	ids string // how the ids of these begin, joined by commas
}

func (d damaged) Records(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, q andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return func(yield func(andon.Record, error) bool) {
		for r, err := range d.Store.Records(ctx, tenant, kind, q) {
			number, _, _ := strings.Cut(strings.TrimLeft(r.ID, "0"), "-")
			if kind == Kind && strings.Contains(d.ids, number) {
				yield(andon.Record{}, andon.Errorf(andon.Damaged, "a block is damaged"))
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// TestAnswerAboutNothing: an answer that does not say what became of the entries is not that of the
// server, and they stay.
func TestAnswerAboutNothing(t *testing.T) {
	for _, answer := range []string{
		"{}", "null", `{"accepted":3,"rejected":[]}`, `{"accepted":1,"rejected":[{"index":7}]}`,
	} {
		ok := atomic.Bool{}
		s := newServer(t, func(w http.ResponseWriter, _ []string) bool {
			if ok.Load() {
				return true
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, answer)
			return false
		})
		g := newGateway(t, s, memstore.New())
		g.append("a", "b")
		g.expectTrouble()
		ok.Store(true)
		g.expect(s, "a", "b")
	}
}

// TestDamage: what is damaged is lost, and nothing else; the queue goes on after a restart.
func TestDamage(t *testing.T) {
	away := newServer(t, func(w http.ResponseWriter, _ []string) bool {
		problem(w, http.StatusInternalServerError, "")
		return false
	})
	store := memstore.New()
	newGateway(t, away, store).append("a", "b", "c", "d", "e", "f")
	there := newServer(t, func(http.ResponseWriter, []string) bool { return true })
	g := newGateway(t, there, damaged{store, "1,3,4"})
	if n := g.State().Entries; n > 3 {
		t.Errorf("%d entries wait, want 3", n)
	}
	g.expect(there, "b", "e", "f")
	g.append("g")
	g.expect(there, "g")
}

// TestSentOnce: what the server took is not sent again by a gateway that starts again, since the
// server may have got something newer meanwhile; nor is it where its deletion failed.
func TestSentOnce(t *testing.T) {
	there := newServer(t, func(http.ResponseWriter, []string) bool { return true })
	for _, fails := range []bool{false, true} {
		store := memstore.New()
		before := wrap.Around(store, func(_ context.Context, call string) (func(error), error) {
			if fails && call == "DeleteRecord" {
				return nil, andon.Errorf(andon.Unavailable, "not now")
			}
			return nil, nil
		})
		g := newGateway(t, there, before)
		g.append("a") // what comes after a deletion that fails waits for a minute
		g.expect(there, "a")
		g.Flush(t.Context())
		g.stop()
		again := newGateway(t, there, store)
		if s := again.State(); s.Entries > 0 || s.Bytes > 0 {
			t.Errorf("%d entries wait", s.Entries)
		}
		again.append("c")
		again.expect(there, "c")
		again.Flush(t.Context())
		again.stop()
	}
}

// TestFullQueue: a request that there is no space for is not kept, not even a part of it.
func TestFullQueue(t *testing.T) {
	away := newServer(t, func(w http.ResponseWriter, _ []string) bool {
		problem(w, http.StatusServiceUnavailable, "")
		return false
	})
	g := newGateway(t, away, memstore.New())
	events := make([]andon.Event, 1200)
	for i := range events {
		events[i] = andon.Event{
			Device: "a", State: "NORMAL", Time: now - andon.Time(i),
			Message: strings.Repeat("x", 1000),
		}
	}
	err := g.Append(t.Context(), "default", now, events)
	if s := g.State(); andon.KindOf(err) != andon.Full || s.Entries > 0 || s.Bytes > 0 {
		t.Errorf("%v; %d entries of %d bytes wait", err, s.Entries, s.Bytes)
	}
	err = g.Append(t.Context(), "default", now, events[:700])
	if s := g.State(); err != nil || s.Entries != 700 {
		t.Errorf("%v; %d entries wait", err, s.Entries)
	}
}

// full is a store whose disk is full.
type full struct{ andon.Store }

func (f full) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if !andon.IsFreeing(ctx) {
		return r, andon.Errorf(andon.Full, "the disk is full")
	}
	return f.Store.PutRecord(ctx, r)
}

// TestFullDisk: a queue that has filled the disk is sent, also what the server refuses of it.
func TestFullDisk(t *testing.T) {
	away := newServer(t, func(w http.ResponseWriter, _ []string) bool {
		problem(w, http.StatusServiceUnavailable, "")
		return false
	})
	store := memstore.New()
	g := newGateway(t, away, store)
	g.append("a", "bad", "b")
	g.stop()
	there := newServer(t, func(w http.ResponseWriter, lines []string) bool {
		bad := strings.Contains(strings.Join(lines, ""), `"bad"`)
		if bad {
			problem(w, http.StatusBadRequest, "not this one")
		}
		return !bad
	})
	g = newGateway(t, there, full{store})
	g.expect(there, "a", "b")
	g.Flush(t.Context())
	if err := g.Append(t.Context(), "default", now, []andon.Event{{Device: "d"}}); err == nil {
		t.Error("the disk is not full")
	}
	list, err := g.refused.List(t.Context(), "", andon.Span{}, "", 10)
	if err != nil || len(list) != 1 || g.State().Entries > 0 {
		t.Errorf("refused are %+v, %v; %d wait", list, err, g.State().Entries)
	}
}

// TestLatest: the time of an entry that has none is after that of those before it, also once the
// clock was set back and the program restarted; unless it was far ahead before.
func TestLatest(t *testing.T) {
	there := newServer(t, func(http.ResponseWriter, []string) bool { return true })
	store := memstore.New()
	g := newGateway(t, there, store)
	g.append("a", "b", "c") // the latest is of now + 2
	g.expect(there, "a", "b", "c")
	g.Flush(t.Context())
	again := newGateway(t, there, store)
	for back, want := range map[andon.Time]andon.Time{
		0: now + 2, 60_000_000: now + 2, 7_200_000_000: 0,
	} {
		if got := again.Latest(now - back); got != want {
			t.Errorf("the clock was set back by %d µs: %s, want %s", back, got, want)
		}
	}
}
