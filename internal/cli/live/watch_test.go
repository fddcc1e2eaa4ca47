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
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/golden"
)

// script is a server that shows one fleet after another.
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
	if strings.HasSuffix(r.URL.Path, "/stream") && s.status == 0 {
		w.WriteHeader(http.StatusNotImplemented)
		return
	}
	if s.status != 0 {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(s.status)
		io.WriteString(w, `{"detail":"the store is\u001b[2J away"}`)
		return
	}
	items := any(s.fleet)
	if strings.HasSuffix(r.URL.Path, "/states") {
		items = []client.StateCount{{State: "NORMAL", Count: len(s.fleet), Symbol: "●"}}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"items": items, "total": len(s.fleet)})
}

// follow runs a watch that sees the scenes one after another, a pause apart, and is then ended.
func follow(t *testing.T, change func(*watch), scenes ...func(*script)) (string, *script, error) {
	t.Helper()
	s := new(script)
	server := httptest.NewServer(s)
	defer server.Close()
	c, out := newClockwork(t), new(bytes.Buffer)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	play := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(scenes) == 0 {
			end()
			return
		}
		scenes[0](s)
		scenes = scenes[1:]
	}
	play()
	p := &command.Program{Stdout: out, Stderr: io.Discard, Now: c.now}
	w := &watch{
		Program: p, Target: p.NewTarget(), every: 2 * time.Second,
		sleep: func(ctx context.Context, d time.Duration) error {
			play()
			return c.sleep(ctx, d)
		},
	}
	w.URL, w.Tenant = server.URL, string(andon.DefaultTenant)
	change(w)
	err := w.run(ctx)
	text := strings.ReplaceAll(out.String(), server.URL, "http://127.0.0.1:…")
	return regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(text, "127.0.0.1:…"), s, err
}

func fleet(devices ...client.Device) func(*script) {
	return func(s *script) { s.fleet, s.status = devices, 0 }
}

func failsWith(status int) func(*script) { return func(s *script) { s.status = status } }

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
	silent := cared
	silent.Silent, silent.Operator, silent.EscalatedTo = true, "", ""
	flapped := silent
	flapped.Silent, flapped.Since = false, begun+1
	got, s, err := follow(t, func(*watch) {},
		fleet(a, b), fleet(a, b), fleet(worse, b), fleet(cared, b), failsWith(503), failsWith(503),
		fleet(silent, b), fleet(flapped), fleet(flapped, b), fleet(flapped, b))
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/watch.golden", got)
	if last := s.asked[len(s.asked)-1]; last != "/api/v1/devices?limit=1000" {
		t.Errorf("it asked %s", last)
	}
}

func TestWatchAsksForWhatIsSelected(t *testing.T) {
	_, s, err := follow(t, func(w *watch) {
		w.query = client.DeviceQuery{
			State: "WARNING*", Operator: "Liz", EscalatedTo: "Sara", Device: "press*",
		}
	}, fleet())
	want := "/api/v1/devices?device=press%2A&escalated_to=Sara&limit=1000&operator=Liz" +
		"&state=WARNING%2A"
	if last := s.asked[len(s.asked)-1]; err != nil || last != want {
		t.Errorf("it asked %s, %v", last, err)
	}
}

// TestWatchEnds: by itself after a time, and at once where asking again is in vain.
func TestWatchEnds(t *testing.T) {
	same := []func(*script){fleet(), fleet(), fleet(), fleet(), fleet(), fleet()}
	got, s, err := follow(t, func(w *watch) { w.length = 5 * time.Second }, same...)
	if err != nil || !strings.HasSuffix(got, "Watched for 5s: 0 changes.\n") || len(s.asked) != 6 {
		t.Errorf("for 5 seconds: asked %q, printed %q, %v", s.asked, got, err)
	}
	for _, status := range []int{400, 401, 404} {
		_, _, err = follow(t, func(*watch) {}, fleet(), failsWith(status), fleet())
		if e := (*client.Error)(nil); err == nil || errors.As(err, &e) && e.Status != status {
			t.Errorf("answered %d: %v", status, err)
		}
		if _, _, err = follow(t, func(*watch) {}, failsWith(status), fleet()); err == nil {
			t.Errorf("answered %d at first: %v", status, err)
		}
	}
	_, _, err = follow(t, func(w *watch) { w.Stdout = &closedPipe{2} },
		fleet(), fleet(client.Device{Device: "a"}), fleet(), fleet(client.Device{Device: "b"}))
	if err != nil {
		t.Errorf("nobody reads on: %v", err)
	}
	if _, _, err = follow(t, func(*watch) {}); err != nil {
		t.Errorf("ended before it began: %v", err)
	}
}

func TestWatchRefuses(t *testing.T) {
	for name, change := range map[string]func(*watch){
		"every 10 ms":  func(w *watch) { w.every = 10 * time.Millisecond },
		"back in time": func(w *watch) { w.length = -1 },
		"no address":   func(w *watch) { w.URL = "127.0.0.1" },
	} {
		if _, _, err := follow(t, change, fleet()); andon.KindOf(err) != andon.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestChangesAreInOrder(t *testing.T) {
	was, is := devices{}, devices{}
	var want []string
	for i := range 20 {
		id := andon.DeviceID(fmt.Sprintf("d%02d", i))
		if i%2 == 0 {
			was[id] = client.Device{Device: id, State: "X"}
			want = append(want, string(id)+" is not listed any more, was X")
		} else {
			is[id] = client.Device{Device: id, State: "Y"}
			want = append(want, string(id)+" is new here: Y for 5s")
		}
	}
	if diff := cmp.Diff(want, describer{}.changes(was, is, 5_000_000)); diff != "" {
		t.Error(diff)
	}
}
