package test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// forwarding starts a gateway of the server at an address.
func forwarding(t testing.TB, to, dir string, flags ...string) *server {
	t.Helper()
	args := []string{
		"forward", "--to", to, "--data", dir, "--listen", "127.0.0.1:0", "--log-level", "error",
	}
	return startProgram(t, command(t, append(args, flags...)...))
}

// freeAddress returns an address on which nobody listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// serveAt starts a server at an address.
func serveAt(t testing.TB, address, dir string) *server {
	t.Helper()
	return startProgram(t, command(t,
		"serve", "--listen", address, "--data", dir, "--log-level", "error"))
}

// fetch returns status and body of a GET request.
func (s *server) fetch(t testing.TB, path string) (status int, body string) {
	t.Helper()
	answer, err := http.Get(s.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// await waits until a page of the server has a text.
func (s *server) await(t testing.TB, path, text string) {
	t.Helper()
	body := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if _, body = s.fetch(t, path); strings.Contains(body, text) {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("%s never has %q; at last it is %s", path, text, body)
}

// drained waits until the gateway has sent all.
func (s *server) drained(t *testing.T) {
	t.Helper()
	s.await(t, "/metrics", "\nandon_forward_entries 0\n")
}

// TestForwardKill9 kills a gateway under load, and its server at some moment meanwhile, again and
// again. What the gateway acknowledged is on the server once, as it was sent. In some rounds the
// server is away from the beginning, and in some the log of the gateway has a torn tail.
func TestForwardKill9(t *testing.T) {
	rounds := 2
	if os.Getenv("ANDON_LONG") != "" {
		rounds = 25
	}
	dir, queue, address := t.TempDir(), t.TempDir(), freeAddress(t)
	writers := []*writer{
		{device: "single", batch: 1}, {device: "d#1", batch: 1},
		{device: "batch-1", batch: 100}, {device: "batch-2", batch: 100},
	}
	for round := range rounds {
		var kill sync.WaitGroup
		if round%2 == 0 {
			upstream := serveAt(t, address, dir)
			kill.Go(func() {
				<-time.After(time.Duration(rand.Int64N(int64(300 * time.Millisecond))))
				upstream.end(syscall.SIGKILL, -1)
			})
		}
		killUnderLoad(t, forwarding(t, address, queue), writers)
		kill.Wait()
		if round%2 == 1 {
			tearLog(t, queue)
		}
		gateway, upstream := forwarding(t, address, queue), serveAt(t, address, dir)
		gateway.drained(t)
		for _, w := range writers {
			w.check(t, newClient(t, upstream))
		}
		gateway.end(syscall.SIGTERM, 0)
		upstream.end(syscall.SIGTERM, 0)
	}
}

// tearLog appends the beginning of a record to the newest log of an embedded store, as a power cut
// may leave it.
func tearLog(t *testing.T, dir string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("the store has logs %q, %v", logs, err)
	}
	f, err := os.OpenFile(slices.Max(logs), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(bytes.Repeat([]byte{0x5a}, 100))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestForwardGivesTimes: entries that have no time get those of their arrival at the gateway, each
// its own, although they come late and the gateway is killed between them.
func TestForwardGivesTimes(t *testing.T) {
	const requests, each = 20, 10
	dir, address := t.TempDir(), freeAddress(t)
	from := andon.TimeOf(time.Now())
	for range 2 {
		gateway := forwarding(t, address, dir)
		var all sync.WaitGroup
		for range requests {
			all.Go(func() {
				body := strings.Repeat(`{"device":"d","state":"NORMAL","odd":"<&>"}`+"\n", each)
				gateway.send(t, "POST", "/api/v1/events", "application/x-ndjson", body)
				body = strings.Repeat(`{"device":"d","metrics":{"t":1.5}}`+"\n", each)
				gateway.send(t, "POST", "/api/v1/readings", "application/x-ndjson", body)
			})
		}
		all.Wait()
		gateway.end(syscall.SIGKILL, -1)
	}
	to := andon.TimeOf(time.Now())
	gateway, upstream := forwarding(t, address, dir), serveAt(t, address, t.TempDir())
	gateway.drained(t)
	c, span := newClient(t, upstream), client.Query{From: from, To: to}
	events := collect(t, c.DeviceEvents(t.Context(), "d", span))
	readings := collect(t, c.DeviceReadings(t.Context(), "d", span))
	if len(events) != 2*requests*each || len(readings) != len(events) {
		t.Errorf("between %s and %s there are %d events and %d readings, want %d of each",
			from, to, len(events), len(readings), 2*requests*each)
	}
	for _, e := range events {
		if e.Attributes != `{"odd":"<&>"}` {
			t.Fatalf("the attributes became %s", e.Attributes)
		}
	}
}

// TestForwardRefused: what the server refuses is in the list of the gateway with its reason, and
// keeps nothing else waiting. That the server refuses the gateway itself is waited out, and shown.
func TestForwardRefused(t *testing.T) {
	upstream := serve(t, "memory", t.TempDir())
	gateway := forwarding(t, upstream.url, t.TempDir(), "--tenant", "plant 1")
	const form = "application/x-ndjson"
	gateway.send(t, "POST", "/api/v1/events", form, `{"device":"a","state":"NORMAL"}
{"device":"b","state":"ODD"}
{"device":"c","state":"NORMAL","time":"2099-01-01T00:00:00Z"}
{"device":"d","state":"NORMAL"}`)
	gateway.await(t, "/readyz", `there is no tenant \"plant 1\"`)
	gateway.send(t, "POST", "/api/v1/readings", form, `{"device":"a","metrics":{"t":1}}`)
	upstream.send(t, "PUT", "/api/v1/tenants/plant%201", "application/json",
		`{"unknown_states":"refuse"}`)
	gateway.drained(t)
	if status, said := gateway.fetch(t, "/readyz"); status != http.StatusOK {
		t.Errorf("/readyz answers %d: %s", status, said)
	}
	_, said := gateway.fetch(t, "/api/v1/rejections")
	for _, want := range []string{
		`has no state \"ODD\"`, `\"device\":\"b\"`, "ahead of the clock", `\"device\":\"c\"`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the rejections lack %s: %s", want, said)
		}
	}
	if n := strings.Count(said, `"reason"`); n != 2 {
		t.Errorf("%d entries were refused, want 2: %s", n, said)
	}
	gateway.await(t, "/metrics", `andon_source_entries_total{source="forward"} 3`)
	answer, err := http.Get(gateway.url + "/api/v1/devices")
	if err != nil || answer.StatusCode != http.StatusNotImplemented {
		t.Errorf("a question to the gateway: %v, %v", answer, err)
	}
	if err == nil {
		answer.Body.Close()
	}
}

// TestForwardFull: a queue that is full takes nothing more, and what it has taken arrives. Its
// directory is that of one process.
func TestForwardFull(t *testing.T) {
	dir, address := t.TempDir(), freeAddress(t)
	gateway := forwarding(t, address, dir, "--max-bytes", "20KB")
	c, w := newClient(t, gateway), &writer{device: "d", batch: 10}
	w.write(t.Context(), c, 0, func() {})
	if w.acknowledged == 0 || w.acknowledged > 1_000 {
		t.Errorf("%d entries were taken", w.acknowledged)
	}
	more := make([]andon.Event, w.batch)
	for i := range more {
		more[i] = w.event(w.acknowledged + i)
	}
	_, err := c.AppendEvents(t.Context(), more)
	if err == nil || !strings.Contains(err.Error(), "queue of this gateway is full") ||
		!strings.Contains(err.Error(), fmt.Sprint(http.StatusInsufficientStorage)) {
		t.Errorf("one more entry: %v", err)
	}
	_, said, code := run(t, "forward", "--to", address, "--data", dir, "--listen", "127.0.0.1:0")
	if code != 1 || !strings.Contains(said, "andon at "+gateway.url) {
		t.Errorf("another gateway on the same directory ended with %d: %s", code, said)
	}
	upstream := serveAt(t, address, t.TempDir())
	gateway.drained(t)
	w.check(t, newClient(t, upstream))
	if _, err := c.AppendEvents(t.Context(), more); err != nil {
		t.Errorf("once there is space: %v", err)
	}
}
