package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/golden"
)

// script is a server that shows a fleet, and whose stream begins and then says nothing.
type script struct {
	mu     sync.Mutex
	status int // of all answers; 0: as it should be
	fleet  []client.Device
	asked  []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.URL.RequestURI())
	if s.status != 0 {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(s.status)
		io.WriteString(w, `{"detail":"the store is\u001b[2J away"}`)
		return
	}
	items := any(s.fleet)
	switch {
	case strings.HasSuffix(r.URL.Path, "/stream"):
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": andon\nid: "+(andon.Position{Feed: 1, Sequence: 1}).String()+"\n\n")
		http.NewResponseController(w).Flush()
		s.mu.Unlock()
		<-r.Context().Done()
		s.mu.Lock()
		return
	case strings.HasSuffix(r.URL.Path, "/states"):
		items = []client.StateCount{{State: "NORMAL", Count: len(s.fleet), Symbol: "●"}}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"items": items, "total": len(s.fleet)})
}

// scene is an update, two seconds after that of the scene before, and what the server shows then.
type scene struct {
	client.Update
	set func(*script)
}

// serve returns a client of a server that answers by the script until the test ends.
func (s *script) serve(t *testing.T) *client.Client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := client.New(client.Options{URL: server.URL, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// play has a watch take the scenes, and returns what it prints.
func play(t *testing.T, w watch, scenes ...scene) (string, *script, error) {
	t.Helper()
	s, out := new(script), new(bytes.Buffer)
	w.Program = &command.Program{Stdout: out, Stderr: io.Discard}
	w.Target = &command.Target{URL: "here", Tenant: string(andon.DefaultTenant)}
	w.client = s.serve(t)
	now := newClockwork(t).now()
	for _, next := range scenes {
		if next.set != nil {
			next.set(s)
		}
		if err := w.take(t.Context(), now, &next.Update); err != nil {
			return out.String(), s, err
		}
		now = now.Add(2_000_000)
	}
	return out.String(), s, nil
}

func fleet(devices ...client.Device) func(*script) {
	return func(s *script) { s.fleet, s.status = devices, 0 }
}

func failsWith(status int) func(*script) { return func(s *script) { s.status = status } }

func kind(k client.UpdateKind) client.Update { return client.Update{Kind: k} }

func TestWatchPrintsChanges(t *testing.T) {
	begun := newClockwork(t).now()
	a := client.Device{Device: "a", State: "NORMAL", Since: begun - 9_000_000, Received: begun}
	b := client.Device{Device: "b", State: "WARNING2", Severity: 48, Since: begun - 61_000_000,
		Operator: "Liz", EscalatedTo: "Sara"}
	worse := a
	worse.State, worse.Severity, worse.Since = "WARNING1", 32, begun
	worse.Message = "hot\x1b[2J"
	cared := worse
	cared.Operator, cared.EscalatedTo = "Sue", "Omar"
	alone := cared
	alone.Operator, alone.EscalatedTo = "", ""
	heard := alone
	heard.State, heard.Severity, heard.Since, heard.Received = "NORMAL", 0, begun+1, begun+1
	flapped := alone
	flapped.Since = begun + 1
	shows := func(d client.Device) client.Update {
		return client.Update{Kind: client.Shows, Device: d}
	}
	lost := client.Update{Kind: client.Lost, Err: errors.New("it\nis away")}
	got, s, err := play(t, watch{},
		scene{kind(client.Begun), fleet(a, b)}, scene{kind(client.Connected), nil},
		scene{shows(worse), nil}, scene{shows(cared), nil}, scene{lost, nil}, scene{lost, nil},
		scene{kind(client.Begun), failsWith(503)}, scene{kind(client.Connected), nil},
		scene{kind(client.Connected), fleet(heard, b)}, // the list that failed, of a later time
		scene{shows(alone), nil}, scene{shows(heard), nil},
		scene{client.Update{Kind: client.Silence, Silent: []andon.DeviceID{"a", "x"}}, nil},
		scene{client.Update{Kind: client.Silence, Heard: []andon.DeviceID{"a"}}, nil},
		scene{kind(client.Reset), fleet(flapped)}, scene{kind(client.Settings), fleet(flapped, b)})
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/watch.golden", got)
	if last := s.asked[len(s.asked)-1]; last != "/api/v1/devices?limit=1000" {
		t.Errorf("it asked %s", last)
	}
}

func TestWatchAsksForWhatIsSelected(t *testing.T) {
	silent := true
	q := client.DeviceQuery{
		State: "WARNING*", Operator: "Liz", EscalatedTo: "Sara", Device: "press*", Silent: &silent,
	}
	_, s, err := play(t, watch{query: q}, scene{kind(client.Begun), nil},
		scene{kind(client.Silence), nil})
	want := "/api/v1/devices?device=press%2A&escalated_to=Sara&limit=1000&operator=Liz" +
		"&silent=true&state=WARNING%2A"
	if err != nil || len(s.asked) != 2 || s.asked[0] != want || s.asked[1] != want {
		t.Errorf("it asked %q, %v", s.asked, err)
	}
}

// TestWatchEnds: by itself after a time, and at once where asking again is in vain.
func TestWatchEnds(t *testing.T) {
	run := func(s *script, w watch) (string, error) {
		server := httptest.NewServer(s)
		defer server.Close()
		out := new(bytes.Buffer)
		p := &command.Program{Stdout: out, Stderr: io.Discard, Now: newClockwork(t).now}
		w.Program, w.Target = p, p.NewTarget(&cobra.Command{})
		w.URL, w.Tenant = server.URL, string(andon.DefaultTenant)
		err := w.run(t.Context())
		return out.String(), err
	}
	got, err := run(new(script), watch{length: 50 * time.Millisecond})
	if err != nil || !strings.HasSuffix(got, ": 0 devices\nWatched for 0s: 0 changes.\n") {
		t.Errorf("for 50 ms: printed %q, %v", got, err)
	}
	for _, status := range []int{400, 401, 404, 503} { // before it was ever answered
		if got, err := run(&script{status: status}, watch{}); err == nil || got != "" {
			t.Errorf("answered %d: printed %q, %v", status, got, err)
		}
	}
	if _, err := run(new(script), watch{length: -1}); andon.KindOf(err) != andon.Invalid {
		t.Errorf("back in time: %v", err)
	}
	for _, status := range []int{400, 401, 404} {
		_, _, err = play(t, watch{}, scene{kind(client.Begun), fleet()},
			scene{kind(client.Reset), failsWith(status)})
		if e := (*client.Error)(nil); !errors.As(err, &e) || e.Status != status {
			t.Errorf("answered %d: %v", status, err)
		}
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if err := unlessEnded(ctx, errors.New("ended")); err != nil {
		t.Errorf("the user ended it: %v", err)
	}
	err = printLine(&closedPipe{}, "one")
	if err != errClosed || unlessEnded(t.Context(), err) != nil {
		t.Errorf("nobody reads on: %v", err)
	}
}

func TestChangesAreInOrder(t *testing.T) {
	var was, is []client.Device
	var want strings.Builder
	for i := range 20 {
		id := andon.DeviceID(fmt.Sprintf("d%02d", i))
		if i%2 == 0 {
			was = append(was, client.Device{Device: id, State: "X"})
			fmt.Fprintf(&want, "2025-12-04T13:00:02Z  %s is not listed any more, was X\n", id)
		} else {
			since := newClockwork(t).now() - 3_000_000
			is = append(is, client.Device{Device: id, State: "Y", Since: since})
			fmt.Fprintf(&want, "2025-12-04T13:00:02Z  %s Y for 5s\n", id)
		}
	}
	got, _, err := play(t, watch{}, scene{kind(client.Begun), fleet(was...)},
		scene{kind(client.Reset), fleet(is...)})
	_, got, _ = strings.Cut(got, "\n") // the first says what is watched
	if diff := cmp.Diff(want.String(), got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// closedPipe is standard output whose reader went away after a few lines.
type closedPipe struct{ lines int }

func (p *closedPipe) Write(text []byte) (int, error) {
	if p.lines -= bytes.Count(text, []byte{'\n'}); p.lines < 0 {
		return 0, errors.New("broken pipe")
	}
	return len(text), nil
}
