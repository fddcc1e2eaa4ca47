package test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// flood is a load that a server is not made for: each of its clients sends again at once.
type flood struct {
	t        testing.TB
	url      string
	http     *http.Client
	statuses sync.Map // of int to *atomic.Int64
}

func newFlood(t testing.TB, s *server, clients int) *flood {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	t.Cleanup(transport.CloseIdleConnections)
	return &flood{t: t, url: s.url, http: &http.Client{Transport: transport}}
}

// clients has n clients send times requests each, one after the other, with the bodies that body
// makes.
func (f *flood) clients(
	n, times int, method, path string, body func(client, i int) []byte, headers ...string,
) {
	var all sync.WaitGroup
	for c := range n {
		all.Go(func() {
			for i := range times {
				var sent []byte
				if body != nil {
					sent = body(c, i)
				}
				f.send(method, path, sent, headers)
			}
		})
	}
	all.Wait()
}

func (f *flood) send(method, path string, body []byte, headers []string) (status int) {
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, bytes.NewReader(body))
	if err != nil {
		f.t.Error(err)
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	answer, err := f.http.Do(r)
	if err != nil {
		f.t.Error(err) // whatever happens, a client gets an answer
		return 0
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		f.t.Error(err)
	}
	refused := answer.StatusCode == http.StatusTooManyRequests
	if refused && answer.Header.Get("Retry-After") == "" {
		f.t.Error("a 429 without Retry-After")
	}
	count, _ := f.statuses.LoadOrStore(answer.StatusCode, new(atomic.Int64))
	count.(*atomic.Int64).Add(1)
	return answer.StatusCode
}

// said returns how often a status was answered.
func (f *flood) said(status int) int64 {
	if n, ok := f.statuses.Load(status); ok {
		return n.(*atomic.Int64).Load()
	}
	return 0
}

// TestSerialFloodStaysInMemory floods a server with what is small to send and large to hold. What
// it took at most is below what it says that it takes, and a tenth more.
func TestSerialFloodStaysInMemory(t *testing.T) {
	s := start(t, "--data", t.TempDir(), "--limits-memory", "64MiB", "--pebble-cache", "8MiB",
		"--limits-wait", "50ms", "--log-level", "error")
	f := newFlood(t, s, 40)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = io.CopyN(z, zeros{}, 100<<20)
	_ = z.Close()
	const n = 16
	f.clients(2*n, 2, http.MethodPost, "/api/v1/events",
		func(int, int) []byte { return bomb.Bytes() }, "Content-Encoding: gzip")
	refused := []byte("[" + strings.Repeat("{},", 99_998) + "{}]")
	f.clients(n, 1, http.MethodPost, "/api/v1/events",
		func(int, int) []byte { return refused })
	f.clients(n, 1, http.MethodPost, "/api/v1/events",
		func(c, i int) []byte { return manyEvents(c, i, 20_000) })
	f.clients(n, 2, http.MethodGet, "/api/v1/devices?limit=1000", nil)
	const devices = 16 * 2_500
	const bound = 384<<20 + 64<<20 + 8<<20 + devices<<10 + 40*32<<10
	took := s.mostMemory(t)
	t.Logf("%d MiB of %d, statuses 200: %d, 413: %d, 429: %d", took>>20, bound>>20,
		f.said(200), f.said(413), f.said(429))
	if took > bound+bound/10 {
		t.Errorf("it took %d MiB, and says that it takes %d", took>>20, bound>>20)
	}
	if f.said(http.StatusRequestEntityTooLarge) == 0 || f.said(http.StatusOK) == 0 {
		t.Error("not one bomb, or not one request, was met")
	}
	if got := f.send(http.MethodGet, "/readyz", nil, nil); got != http.StatusOK {
		t.Errorf("afterwards it answers %d", got)
	}
}

// TestOverloadLosesNothing has more writers at once than turns: some are refused, none is cut off
// or waits without an end, readers are served meanwhile, and what was acknowledged is there.
func TestOverloadLosesNothing(t *testing.T) {
	s := start(t, "--data", t.TempDir(), "--log-level", "error",
		"--limits-requests", "2", "--limits-wait", "2ms")
	const writers, times, each = 40, 4, 20
	f := newFlood(t, s, writers)
	reads := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(reads)
		for ctx.Err() == nil {
			f.send(http.MethodGet, "/api/v1/devices/nothing/events", nil, nil)
		}
	}()
	var acknowledged sync.Map // of "client/i"
	var all sync.WaitGroup
	for c := range writers {
		all.Go(func() {
			for i := range times {
				status := f.send(http.MethodPost, "/api/v1/events", manyEvents(c, i, each), nil)
				switch status {
				case http.StatusOK:
					acknowledged.Store(fmt.Sprintf("%d/%d", c, i), true)
				case http.StatusTooManyRequests:
				default:
					t.Errorf("answered %d", status)
				}
			}
		})
	}
	all.Wait()
	cancel()
	<-reads
	if f.said(http.StatusTooManyRequests) == 0 {
		t.Error("none was refused")
	}
	api := newClient(t, s)
	for c := range writers {
		for i := range times {
			_, ok := acknowledged.Load(fmt.Sprintf("%d/%d", c, i))
			q := client.Query{Order: andon.Asc}
			events := collect(t, api.DeviceEvents(t.Context(), deviceOf(c, i, 0), q))
			if kept := len(events) > 0; kept != ok {
				t.Errorf("request %d of writer %d: acknowledged %t, kept %t", i, c, ok, kept)
			}
		}
	}
}

func deviceOf(client, i, n int) andon.DeviceID {
	return andon.DeviceID(fmt.Sprintf("press-%d-%d-%d", client, i, n%2500))
}

// manyEvents is a body of n events of up to 2,500 devices.
func manyEvents(client, i, n int) []byte {
	b := []byte{'['}
	for k := range n {
		if k > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"device":%q,"time":%d,"state":"WARNING1","message":"overheat"}`,
			deviceOf(client, i, k), 1_700_000_000_000+k)
	}
	return append(b, ']')
}

// zeros is a reader of nothing else.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// mostMemory returns the most bytes that the server ever had in memory, as the system says; where
// it does not, what Go says.
func (s *server) mostMemory(t testing.TB) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		metrics := s.send(t, http.MethodGet, "/metrics", "", "")
		for line := range strings.Lines(metrics) {
			if size, ok := strings.CutPrefix(line, "go_memstats_sys_bytes "); ok {
				bytes, err := strconv.ParseFloat(strings.TrimSpace(size), 64)
				if err != nil {
					t.Fatal(err)
				}
				return int(bytes)
			}
		}
		t.Fatal("no go_memstats_sys_bytes")
	}
	for line := range strings.Lines(string(text)) {
		if size, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, err := strconv.Atoi(strings.Fields(size)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
