package bench_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bench"
)

// noted is a server that notes what it is sent and takes no time.
type noted struct {
	mu     sync.Mutex
	lines  map[string]int // how often each event came
	asked  map[string]int // by path, without its query
	open   int
	answer []byte
}

func (n *noted) server(name string, answers bool) bench.Server {
	return bench.Server{
		Name: name, Answers: answers,
		Dial: func(context.Context) (bench.Conn, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.open++
			return n, nil
		},
		Usage: func(context.Context) (bench.Usage, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			total := int64(0)
			for _, times := range n.lines {
				total += int64(times)
			}
			return bench.Usage{
				CPU: time.Duration(total) * time.Microsecond, Memory: 7, Written: 50 * total,
				Kept: 20 * total,
			}, nil
		},
	}
}

// Do is of bench.Conn.
func (n *noted) Do(_ context.Context, method, path string, body []byte) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for line := range bytes.Lines(body) {
		n.lines[string(line)]++
	}
	if method == "GET" {
		path, _, _ = strings.Cut(path, "?")
		n.asked[path]++
	}
	return n.answer, nil
}

// Close is of bench.Conn.
func (n *noted) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open--
	return nil
}

func newNoted(devices int) *noted {
	answer := bytes.Repeat([]byte(`{"device":"d"}`), devices)
	return &noted{lines: map[string]int{}, asked: map[string]int{}, answer: answer}
}

// TestMeasureServers: all get the same, no event comes twice, and what each came to and used is in
// its rows.
func TestMeasureServers(t *testing.T) {
	whole, least := newNoted(100), newNoted(0)
	o := options()
	servers := []bench.Server{whole.server("whole", true), least.server("least", false)}
	rows, err := bench.MeasureServers(t.Context(), servers, o)
	if err != nil {
		t.Fatal(err)
	}
	bench.Beside(rows, "whole", "least", "none")
	for _, r := range rows {
		writes, whole := r.EventsRate != nil, r.Subject == "whole"
		if r.Ops == 0 || r.P50 > r.P99 || r.P99 > r.P999 || *r.Memory != 7 {
			t.Errorf("%+v", r)
		}
		// Waves come at once, so the last request of each waits for those in front of it.
		if strings.HasPrefix(r.Load, "storm") && (!r.Open || r.P99 == 0) {
			t.Errorf("%+v", r)
		}
		if writes && (*r.CPU != time.Microsecond || *r.WrittenPerEvent != 50) {
			t.Errorf("%s: CPU %s, %v bytes an event", r.Load, r.CPU, *r.WrittenPerEvent)
		}
		if compared := r.OfCeiling != nil; compared != (writes && whole && !r.Open) {
			t.Errorf("%s: of the ceiling: %v", r.Load, r.OfCeiling)
		}
		if fill := strings.HasPrefix(r.Load, "fill"); fill != (r.BytesPerEvent != nil) {
			t.Errorf("%s: %v bytes an event", r.Load, r.BytesPerEvent)
		}
	}
	if len(least.asked) != 0 || len(whole.asked) == 0 || whole.open != 0 || least.open != 0 {
		t.Errorf("asked %v and %v; open %d and %d",
			whole.asked, least.asked, whole.open, least.open)
	}
	for line, times := range whole.lines {
		if times > 1 {
			t.Fatalf("%d times: %s", times, line)
		}
	}
}

// TestMeasureServersThatIsWrong: a list that is too short is no figure.
func TestMeasureServersThatIsWrong(t *testing.T) {
	short := newNoted(99)
	servers := []bench.Server{short.server("short", true)}
	_, err := bench.MeasureServers(t.Context(), servers, options())
	if andon.KindOf(err) != andon.Internal {
		t.Errorf("got %v", err)
	}
	if short.open != 0 {
		t.Errorf("%d connections are open", short.open)
	}
}
