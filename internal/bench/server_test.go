package bench_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon/internal/bench"
)

// noted is a server that notes what it is sent.
type noted struct {
	mu      sync.Mutex
	lines   map[string]int // how often each event came
	queries map[string]int // by path
	devices int            // that each answer names
}

// ServeHTTP implements http.Handler.
func (n *noted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case r.URL.Path == "/metrics":
		fmt.Fprintf(w, "process_cpu_seconds_total %f\nprocess_resident_memory_bytes 7\n"+
			"andon_pebble_written_bytes_total %d\nandon_pebble_disk_bytes %d\n",
			1e-6*float64(len(n.lines)), 50*len(n.lines), 20*len(n.lines))
	case r.Header.Get("Andon-Tenant") != "t" || r.Header.Get("Authorization") != "Bearer secret":
		http.Error(w, "who?", http.StatusUnauthorized)
	case r.Method == http.MethodPost:
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			n.lines[lines.Text()]++
		}
	default:
		n.queries[r.URL.Path]++
		fmt.Fprint(w, strings.Repeat(`{"device":"d"}`, n.devices))
	}
}

func newServer(t *testing.T, devices int) (*noted, bench.Target) {
	t.Helper()
	n := &noted{lines: map[string]int{}, queries: map[string]int{}, devices: devices}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return n, bench.Server("server", server.URL, "secret", "t")
}

// TestMeasureServer: no event comes twice, each query is asked, and a row has what the server used.
func TestMeasureServer(t *testing.T) {
	n, target := newServer(t, 100)
	o := options()
	o.Escalate = true
	b, err := bench.New(o, target)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := b.Measure(t.Context(), slices.Concat(b.Filling(), b.Asking(), b.Writes()))
	if err != nil {
		t.Fatal(err)
	}
	callers := map[string][]int{}
	for _, r := range rows {
		if r.Ops == 0 || r.P50 > r.P99 || r.P99 > r.P999 || r.Memory == nil || *r.Memory != 7 {
			t.Errorf("%+v", r)
		}
		if r.EventsRate == nil {
			callers[r.Load] = append(callers[r.Load], r.InFlight)
		} else if r.CPU.Round(100*time.Nanosecond) != time.Microsecond ||
			*r.WrittenPerEvent != 50 || *r.BytesPerEvent != 20 {
			t.Errorf("%s: CPU %s, %v and %v bytes", r.Load, r.CPU, *r.WrittenPerEvent,
				*r.BytesPerEvent)
		}
	}
	for load, counts := range callers {
		if !slices.Equal(counts, []int{1, 16}) {
			t.Errorf("%s by %d callers", load, counts)
		}
	}
	if len(callers) != 8 || len(n.queries) < 8 {
		t.Errorf("%d queries: %v", len(callers), n.queries)
	}
	escalated := 0
	for line, times := range n.lines {
		if times > 1 {
			t.Fatalf("%d times: %s", times, line)
		}
		if strings.Contains(line, `"escalated_to":"supervisor-0"`) {
			escalated++
		}
	}
	if escalated == 0 {
		t.Error("nothing is escalated")
	}
}

// TestMeasureWrongServer: answers that are errors, or too short, end a run.
func TestMeasureWrongServer(t *testing.T) {
	_, short := newServer(t, 1)
	_, refusing := newServer(t, 100)
	address := httptest.NewServer(http.NotFoundHandler())
	defer address.Close()
	for want, target := range map[string]bench.Target{
		"names 1 devices, fewer than": short,
		"Not Found (HTTP 404)":        bench.Server("server", address.URL, "", ""),
		"":                            refusing,
	} {
		o := options()
		o.Kinds = []string{bench.Query, bench.States}
		b, err := bench.New(o, target)
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Measure(t.Context(), slices.Concat(b.Filling(), b.Asking()))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
