package source_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/source"
	"github.com/andonhq/andon/internal/store/memstore"
)

const now = andon.Time(1_764_851_696_000_000) // 2025-12-04T12:34:56Z

func clock() andon.Time { return now }

// bench is a writer before a store, and what it logs.
type bench struct {
	*testing.T
	store   andon.Store
	list    *source.Rejections
	writer  *source.Writer
	options source.Options
	log     strings.Builder
}

func newBench(t *testing.T, store andon.Store) *bench {
	b := &bench{T: t, store: store}
	b.list = &source.Rejections{Store: store, Now: clock, Keep: 1000}
	b.options = source.Options{
		Name: "line-3", Tenant: andon.DefaultTenant, Refused: b.list,
		Intake:  intake.New(store, intake.Options{Now: clock}),
		Metrics: source.NewMetrics(prometheus.NewRegistry()),
		Log:     slog.New(slog.NewTextHandler(&b.log, nil)), Now: clock,
	}
	b.writer = source.New(b.options)
	return b
}

// messages are texts at places from 0 on.
func messages(values ...string) (all []mapping.Message) {
	for i, value := range values {
		all = append(all, mapping.Message{
			Place: fmt.Sprintf("events/0/%d", i), Topic: "events", Value: []byte(value),
			Time: now - andon.Time(1000-i),
		})
	}
	return all
}

func (b *bench) write(values ...string) {
	b.Helper()
	if err := b.writer.Write(b.Context(), messages(values...)); err != nil {
		b.Fatal(err)
	}
}

// events are the entries of a device, oldest first: time before now, state, message.
func (b *bench) events(device andon.DeviceID) (all []string) {
	b.Helper()
	q := andon.EventQuery{Order: andon.Asc, Limit: 100}
	for e, err := range b.store.DeviceEvents(b.Context(), andon.DefaultTenant, device, q) {
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d %s %s", e.Time-now, e.State, e.Message))
	}
	return all
}

// refused are the rejections, newest first.
func (b *bench) refused() (all []string) {
	b.Helper()
	found, err := b.list.List(b.Context(), "", andon.Span{}, "", 10_000)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range found {
		all = append(all, fmt.Sprintf("%s#%d %s: %s", f.Place, f.Index, f.Tenant, f.Reason))
	}
	return all
}

func (b *bench) same(want, got []string) {
	b.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Error(diff)
	}
}

// TestOwnJSON: messages of Andon's own JSON become what HTTP makes of them, and what is wrong in
// one is in the list, next to what is good in it.
func TestOwnJSON(t *testing.T) {
	b := newBench(t, memstore.New())
	future := now.Add(601_000_000)
	for range 2 { // it is delivered twice
		b.write(
			`{"device":"d","state":"NORMAL"}`,
			`[{"device":"d","state":"WARNING1","message":"hot"},{"device":"d"},{"state":"X"}]`,
			`{"device":"e","state":"NORMAL","metrics":{"t":21.5}}`,
			"{\"device\":\"e\",\"metrics\":{\"t\":22}}\nnonsense\n"+
				`{"device":"e","state":"WARNING2"}`,
			`[{"device":"d","state":"LOST"},`,
			"\x00\xff\xfe",
			`{"device":"d","state":"\ud800"}`,
			strings.Repeat(`{"a":`, 100_000),
			`{"device":"d","state":"NORMAL","time":"`+future.String()+`"}`,
			"",
			`{"device":"d","state":"LAST"}`,
		)
	}
	b.same([]string{"-1000 NORMAL ", "-999 WARNING1 hot", "-990 LAST "}, b.events("d"))
	b.same([]string{"-998 NORMAL ", "-997 WARNING2 "}, b.events("e"))
	readings, err := seq.Collect(b.store.DeviceReadings(t.Context(), andon.DefaultTenant, "e",
		andon.ReadingQuery{Limit: 9}))
	if err != nil || len(readings) != 2 || readings[0].Time != now-997 {
		t.Errorf("%v, %v", readings, err)
	}
	b.same([]string{
		"events/0/1#1 : state is missing",
		"events/0/1#2 : device is missing",
		"events/0/3#1 : at byte 0: want a value, found nonsense",
		"events/0/4#0 : at byte 31: want a value, found the end; nothing of the array was kept: " +
			"fix it at entry 1, or send NDJSON, where a broken line costs only itself",
		`events/0/5#0 : nothing could be read: line 1, at byte 0: want a value, found '\x00'`,
		"events/0/6#0 : at byte 23: state: an escape that is half of a surrogate pair",
		"events/0/7#0 : nothing could be read: line 1, at byte 500000: want a value, found the end",
		"events/0/9#0 : the body is empty",
		"events/0/8#0 default: time 2025-12-04T12:44:57Z is more than 10m ahead of the clock, " +
			"which says 2025-12-04T12:34:56Z",
	}, b.refused())
}

// flaky is an intake that is busy, or worse, for some calls.
type flaky struct {
	*intake.Intake
	mu   sync.Mutex
	left int
	err  error
}

func (f *flaky) Enter(ctx context.Context, bytes, memory int64) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left >= 0 {
		return nil, f.err
	}
	return f.Intake.Enter(ctx, bytes, memory)
}

// TestRetry: a store that is out of reach is waited for, and that is logged when it begins and when
// it ends.
func TestRetry(t *testing.T) {
	for _, kind := range []andon.Kind{
		andon.Busy, andon.Unavailable, andon.Full, andon.Internal, andon.Damaged,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, memstore.New())
			b.options.Intake = &flaky{
				Intake: intake.New(b.store, intake.Options{Now: clock}), left: 20,
				err: andon.Errorf(kind, "not now"),
			}
			b.writer = source.New(b.options)
			b.write(`{"device":"d","state":"NORMAL"}`)
			b.same([]string{"-1000 NORMAL "}, b.events("d"))
			if n := strings.Count(b.log.String(), "\n"); n != 2 {
				t.Errorf("%d lines:\n%s", n, b.log.String())
			}
		})
	}
}
