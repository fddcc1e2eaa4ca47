package bench_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/sleep"
)

// noted is a server that notes what it is sent and takes no time.
type noted struct {
	mu     sync.Mutex
	lines  map[string]int // how often each event came
	asked  map[string]int // by path, without its query
	open   int
	answer []byte
}

func (n *noted) server(name string, able bench.Abilities) bench.Server {
	return bench.Server{
		Name: name, Able: able,
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
	if path, _, _ = strings.Cut(path, "?"); method == "GET" || strings.HasSuffix(path, "latest") {
		n.asked[path]++
		return n.answer, nil
	}
	for line := range bytes.Lines(body) {
		n.lines[string(line)]++
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

// all is what a server can do.
const all = bench.Answers | bench.TakesReadings | bench.AnswersReadings

func newNoted(devices int) *noted {
	answer := bytes.Repeat([]byte(`{"device":"d"}`), devices)
	return &noted{lines: map[string]int{}, asked: map[string]int{}, answer: answer}
}

// TestMeasureServers: all get the same, no event comes twice, and what each came to and used is in
// its rows.
func TestMeasureServers(t *testing.T) {
	whole, least := newNoted(720), newNoted(0)
	o := options()
	servers := []bench.Server{
		whole.server("whole", all), least.server("least", bench.TakesReadings),
	}
	rows, err := bench.MeasureServers(t.Context(), servers, o)
	if err != nil {
		t.Fatal(err)
	}
	bench.Beside(rows, "whole", bench.Ceilings{Writes: "least", Raw: "raw"})
	callers := map[string][]int{}
	for _, r := range rows {
		checkServerRow(t, r)
		if r.EventsRate == nil && !r.Open {
			callers[r.Load] = append(callers[r.Load], r.InFlight)
		}
	}
	for load, n := range callers {
		if !slices.Equal(n, []int{1, 16}) {
			t.Errorf("%s by %d callers", load, n)
		}
	}
	if len(callers) != 9 {
		t.Errorf("%d questions", len(callers))
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

// checkServerRow checks a row of TestMeasureServers.
func checkServerRow(t *testing.T, r bench.Row) {
	t.Helper()
	writes, beside := r.EventsRate != nil, strings.Contains(r.Load, "beside that")
	list := strings.HasPrefix(r.Load, "list") // is of servers that answer
	if r.Ops == 0 || r.P50 > r.P99 || r.P99 > r.P999 {
		t.Errorf("%+v", r)
	}
	// Waves come at once, so the last request of each waits for those in front of it.
	if strings.HasPrefix(r.Load, "storm") && (!r.Open || r.P99 == 0) {
		t.Errorf("%+v", r)
	}
	compared := writes && r.Subject == "whole" && !r.Open && !list
	if compared != (r.OfCeiling != nil) {
		t.Errorf("%s: of the ceiling: %v", r.Load, r.OfCeiling)
	}
	if used := r.Memory != nil; used == beside || used && *r.Memory != 7 {
		t.Errorf("%s: memory %v", r.Load, r.Memory)
	}
	// Readings are counted as 50 bytes each, too, and the batches of a soak have the single events
	// beside them as well.
	if !writes || beside {
		return
	}
	near := func(got, want float64) bool {
		return got >= want && (got == want || strings.HasPrefix(r.Load, "soak") && got < 2*want)
	}
	if !near(float64(*r.CPU), float64(time.Microsecond)) || !near(*r.WrittenPerEvent, 50) ||
		!near(*r.BytesPerEvent, 20) {
		t.Errorf("%s: CPU %s, %v and %v bytes an event",
			r.Load, r.CPU, *r.WrittenPerEvent, *r.BytesPerEvent)
	}
}

// TestMeasureChosenLoads: only what is chosen is measured, behind the filling.
func TestMeasureChosenLoads(t *testing.T) {
	for kind, want := range map[string]string{
		"single": "write: 1 event", "batch": "write: 50 events", "states": "states: ",
		"list": "list: 50 events", "soak": "soak: 50 events", "readings": "readings: ",
		"questions": "last 100 of a device",
	} {
		o := options()
		o.Loads = []string{kind}
		rows, err := bench.MeasureServers(t.Context(),
			[]bench.Server{newNoted(720).server("server", all)}, o)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(rows[0].Load, "fill: ") || !strings.HasPrefix(rows[1].Load, want) {
			t.Errorf("%s: %q, then %q", kind, rows[0].Load, rows[1].Load)
		}
		for _, r := range rows[1:] {
			if other := strings.HasPrefix(r.Load, "readings"); other != (kind == "readings") &&
				!r.Open {
				t.Errorf("%s: %q", kind, r.Load)
			}
		}
	}
	o := options()
	o.Loads = []string{"import"}
	_, err := bench.MeasureServers(t.Context(), nil, o)
	if andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(), "states, list, soak") {
		t.Errorf("got %v", err)
	}
}

// TestSoakOfEvents: a soak brings as many events as it is told to, in tenths, with single events
// beside them, and none twice.
func TestSoakOfEvents(t *testing.T) {
	s, o := newNoted(0), options()
	o.Loads, o.Soak = []string{"soak"}, 20_000
	rows, err := bench.MeasureServers(t.Context(), []bench.Server{s.server("server", 0)}, o)
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, want := range []string{
		"soak: 50 events, tenth 1", "soak: 1 event beside that, tenth 1",
		"soak: 50 events, tenth 10", "soak: 1 event beside that, tenth 10",
	} {
		r := rows[1+i]
		if batches := i%2 == 0; r.Load != want || r.Open == batches || batches && r.Ops != 40 {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	filled := int(rows[0].Ops)*50 + 10*100
	if singles := len(s.lines) - filled - o.Soak; singles < 10 {
		t.Errorf("%d single events beside %d", singles, o.Soak)
	}
	for line, times := range s.lines {
		if times > 1 {
			t.Fatalf("%d times: %s", times, line)
		}
	}
}

// tiring is a server that takes some batches at once, and then needs a while for each.
type tiring struct {
	*noted
	left atomic.Int64 // batches that it takes at once
}

const tired = 2 * time.Millisecond

// Do is of bench.Conn.
func (s *tiring) Do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	if method == "POST" && s.left.Add(-1) < 0 {
		if err := sleep.For(ctx, tired); err != nil {
			return nil, err
		}
	}
	return s.noted.Do(ctx, method, path, body)
}

// TestListsBesideIngestThatLasts: what a server takes for a moment only is not the maximum.
func TestListsBesideIngestThatLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const filling, callers = 10 + 3*200/50, 4
		s, o := &tiring{noted: newNoted(100)}, options()
		s.left.Store(filling + 2*callers) // less than come in the parts that do not count
		o.Loads = []string{"list"}
		rows, err := bench.MeasureServers(t.Context(), []bench.Server{{
			Name: "server", Able: all,
			Dial: func(context.Context) (bench.Conn, error) { return s, nil },
		}}, o)
		if err != nil {
			t.Fatal(err)
		}
		if most := callers / tired.Seconds(); rows[1].OpsRate > most {
			t.Errorf("%.0f batches in a second at most, not %.0f", most, rows[1].OpsRate)
		}
	})
}

// TestListsBesideAnEcho: a server that only echoes is asked beside the batches of another.
func TestListsBesideAnEcho(t *testing.T) {
	whole, echo := newNoted(720), newNoted(0)
	o := options()
	o.Loads = []string{"list"}
	rows, err := bench.MeasureServers(t.Context(), []bench.Server{
		whole.server("whole", all), echo.server("echo", bench.Echoes),
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	last := rows[len(rows)-1]
	asked := echo.asked["/api/v1/states"]
	if last.Subject != "echo" || last.Ops == 0 || last.Ops != int64(asked) {
		t.Errorf("asked %d times, and the last row is %+v", asked, last)
	}
}

// direct is a server that keeps events as they are.
type direct struct {
	*noted
	mu   sync.Mutex
	kept []andon.Event
}

// Keep is of bench.Keeper.
func (d *direct) Keep(_ context.Context, events []andon.Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept = append(d.kept, events...)
	return nil
}

// TestMeasureKeeper: what needs no HTTP gets the same events as a server does, and is the other
// ceiling of its rows.
func TestMeasureKeeper(t *testing.T) {
	over, raw, o := newNoted(0), &direct{noted: newNoted(0)}, options()
	o.Loads, o.Soak = []string{"batch"}, 1000
	servers := []bench.Server{over.server("server", 0), {
		Name: "raw", Dial: func(context.Context) (bench.Conn, error) { return raw, nil },
	}}
	rows, err := bench.MeasureServers(t.Context(), servers, o)
	if err != nil {
		t.Fatal(err)
	}
	bench.Beside(rows, "server", bench.Ceilings{Raw: "raw"})
	for _, r := range rows {
		if want := r.Subject == "server" && !r.Open; want != (r.OfRaw != nil) {
			t.Errorf("%+v", r)
		}
		if r.Subject == "raw" && (r.CPU != nil || r.Memory != nil) {
			t.Errorf("%+v", r)
		}
	}
	if len(raw.lines) > 0 {
		t.Errorf("sent: %d lines", len(raw.lines))
	}
	fill := int(rows[0].Ops)*50 + 10*100
	var text []byte
	for _, e := range raw.kept[:fill] {
		text = append(bench.AppendEvent(text[:0], &e), '\n')
		if over.lines[string(text)] != 1 {
			t.Fatalf("the server did not get %s", text)
		}
	}
}

// TestMeasureServersThatIsWrong: a list that is too short is no figure.
func TestMeasureServersThatIsWrong(t *testing.T) {
	short := newNoted(99)
	servers := []bench.Server{short.server("short", all)}
	_, err := bench.MeasureServers(t.Context(), servers, options())
	if andon.KindOf(err) != andon.Internal {
		t.Errorf("got %v", err)
	}
	if short.open != 0 {
		t.Errorf("%d connections are open", short.open)
	}
}

// TestListsBesideIngest: batches come as fast as they are taken and then at half of that, and both
// questions beside the latter, open loop. No event comes twice.
func TestListsBesideIngest(t *testing.T) {
	s, o := newNoted(100), options()
	o.Loads = []string{"list"}
	rows, err := bench.MeasureServers(t.Context(), []bench.Server{s.server("server", all)}, o)
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, want := range []string{
		"list: 50 events", "list: 50 events, at half of that",
		"list: 100 devices in a state beside that", "list: counts beside that",
	} {
		r := rows[1+i]
		writes := i < 2
		if r.Load != want || r.Open != (i > 0) || writes != (r.EventsRate != nil) ||
			writes != (r.CPU != nil) || r.Ops == 0 {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	if s.asked["/api/v1/devices"] == 0 || s.asked["/api/v1/states"] == 0 {
		t.Errorf("asked %v", s.asked)
	}
	for line, times := range s.lines {
		if times > 1 {
			t.Fatalf("%d times: %s", times, line)
		}
	}
}
