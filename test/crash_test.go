package test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// TestKill9 kills a server with writers under way, again and again on one directory. What was
// acknowledged is in the history, once; what a device shows follows from its history. The race
// detector watches one turn.
func TestKill9(t *testing.T) { killAgain(t, 1) }

func TestSerialKill9(t *testing.T) { killAgain(t, 3) }

func killAgain(t *testing.T, rounds int) {
	t.Helper()
	dir := t.TempDir()
	writers := []*writer{{device: "single", batch: 1}, {device: "d#1", batch: 1}}
	for i := range 4 {
		device := andon.DeviceID(fmt.Sprintf("batch-%d", i))
		writers = append(writers, &writer{device: device, batch: 100})
	}
	for range rounds {
		s := serve(t, "pebble", dir)
		killUnderLoad(t, s, writers)
		again := serve(t, "pebble", dir)
		c := newClient(t, again)
		for _, w := range writers {
			w.check(t, c)
		}
		checkCounts(t, c, writers)
		again.end(syscall.SIGTERM, 0)
	}
}

func newClient(t *testing.T, s *server) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{URL: s.url, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// killUnderLoad lets the writers write, kills the server once each has been acknowledged a few
// times more, and waits for them to notice.
func killUnderLoad(t *testing.T, s *server, writers []*writer) {
	t.Helper()
	const enough = 25
	c := newClient(t, s)
	var busy, all sync.WaitGroup
	for _, w := range writers {
		busy.Add(1)
		all.Go(func() { w.write(t.Context(), c, enough, busy.Done) })
	}
	busy.Wait()
	s.end(syscall.SIGKILL, -1)
	all.Wait()
}

// writer sends the entries 0, 1, 2, … of one device, in order, until the server is gone.
type writer struct {
	device       andon.DeviceID
	batch        int
	text         string // of each message
	sent         int    // entries that were sent
	acknowledged int    // of those, how many are promised to be there
}

// event is the entry i of the device: its state changes each seventh time.
func (w *writer) event(i int) andon.Event {
	const second = 1_000_000
	states := []andon.State{"NORMAL", "WARNING1", "WARNING2"}
	return andon.Event{
		Device: w.device, Time: andon.Time(1_700_000_000+i) * second,
		State: states[i/7%len(states)], Operator: "Liz", Message: fmt.Sprint(i, w.text),
	}
}

func (w *writer) write(ctx context.Context, c *client.Client, enough int, done func()) {
	once := sync.OnceFunc(done)
	defer once()
	for requests := 0; ; requests++ {
		if requests == enough {
			once()
		}
		events := make([]andon.Event, w.batch)
		for i := range events {
			events[i] = w.event(w.acknowledged + i)
		}
		w.sent = max(w.sent, w.acknowledged+w.batch)
		result, err := c.AppendEvents(ctx, events)
		if err != nil || result.Accepted != w.batch {
			return
		}
		w.acknowledged += w.batch
	}
}

// check compares the device with what was sent: entries 0 to n-1 in an unbroken row, no fewer than
// were acknowledged and no more than were sent, and what it shows is the last of them.
func (w *writer) check(t *testing.T, c *client.Client) {
	t.Helper()
	events := collect(t, c.DeviceEvents(t.Context(), w.device, client.Query{Order: andon.Asc}))
	n := len(events)
	if n < w.acknowledged || n > w.sent || w.acknowledged == 0 {
		t.Fatalf("%s has %d entries; %d were acknowledged, %d sent",
			w.device, n, w.acknowledged, w.sent)
	}
	for i, e := range events {
		if e != w.event(i) {
			t.Fatalf("%s: entry %d is %+v, want %+v", w.device, i, e, w.event(i))
		}
	}
	d, err := c.Device(t.Context(), w.device)
	last, since := w.event(n-1), w.event((n-1)/7*7)
	if err != nil || d.Time != last.Time || d.State != last.State || d.Since != since.Time {
		t.Errorf("%s shows %+v, %v; its newest entry is %+v", w.device, d, err, last)
	}
	byOperator := client.Query{From: last.Time, To: last.Time}
	hint := false
	for _, e := range collect(t, c.OperatorEvents(t.Context(), "Liz", byOperator)) {
		hint = hint || e == last
	}
	if !hint {
		t.Errorf("%s: its newest entry is not among its operator's", w.device)
	}
}

func checkCounts(t *testing.T, c *client.Client, writers []*writer) {
	t.Helper()
	want := map[andon.State]int{}
	for d, err := range c.Devices(t.Context(), client.DeviceQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		want[d.State]++
	}
	states, total, err := c.States(t.Context())
	if err != nil || total != len(writers) {
		t.Fatalf("%d devices, %v; want %d", total, err, len(writers))
	}
	for _, s := range states {
		if s.Count != want[s.State] {
			t.Errorf("%d devices are counted in %s, %d are listed", s.Count, s.State, want[s.State])
		}
	}
}

// TestStopAnswers: SIGTERM ends a server under load with 0, and nothing acknowledged is lost.
func TestStopAnswers(t *testing.T) {
	dir := t.TempDir()
	w := &writer{device: "d", batch: 10}
	s := serve(t, "pebble", dir)
	c := newClient(t, s)
	var busy, all sync.WaitGroup
	busy.Add(1)
	all.Go(func() { w.write(t.Context(), c, 5, busy.Done) })
	busy.Wait()
	s.end(syscall.SIGTERM, 0) // one that did not end in time would end with another code
	all.Wait()
	w.check(t, newClient(t, serve(t, "pebble", dir)))
}

// TestStopWithAStalledReader: a client that reads nothing of its stream does not hold up SIGTERM.
func TestStopWithAStalledReader(t *testing.T) {
	s := serve(t, "pebble", t.TempDir())
	host := strings.TrimPrefix(s.url, "http://")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	const ask = "GET /api/v1/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
	if _, err := conn.Write([]byte(ask)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil { // it has begun
		t.Fatal(err)
	}
	c := newClient(t, s)
	for n := range 8 { // 8 MB, more than the buffers of both ends hold
		events := make([]andon.Event, 1000)
		for i := range events {
			events[i] = andon.Event{
				Device:  andon.DeviceID(fmt.Sprint("d", i)),
				State:   andon.State(fmt.Sprint("S", n%2)),
				Message: strings.Repeat("m", 1000),
			}
		}
		if _, err := c.AppendEvents(t.Context(), events); err != nil {
			t.Fatal(err)
		}
	}
	s.end(syscall.SIGTERM, 0)
}
