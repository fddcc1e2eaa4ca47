package test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
)

// BenchmarkForward sends events to a server and to a gateway whose server is away, in turn, one in
// a request and a thousand, by 16 clients; then a gateway sends on a backlog. A microsecond of
// processor time is that of the receiver (of both in a drain) for an event.
//
//	go test -run - -bench Forward -benchtime 200000x ./test
func BenchmarkForward(b *testing.B) {
	for _, batch := range []int{1, 1000} {
		b.Run(fmt.Sprintf("server/%d", batch), func(b *testing.B) {
			s := start(b, "--data", b.TempDir(), "--log-level", "error")
			bombard(b, s, batch)
		})
		b.Run(fmt.Sprintf("gateway/%d", batch), func(b *testing.B) {
			bombard(b, forwarding(b, "127.0.0.1:1", b.TempDir()), batch)
		})
	}
	b.Run("drain", func(b *testing.B) {
		address, dir := freeAddress(b), b.TempDir()
		gateway := forwarding(b, address, dir, "--max-bytes", "10GB")
		bombard(b, gateway, 1000)
		before := cpuOf(gateway)
		b.ResetTimer()
		upstream := serveAt(b, address, b.TempDir())
		gateway.await(b, "/metrics", "\nandon_forward_entries 0\n")
		report(b, cpuOf(gateway)-before+cpuOf(upstream))
	})
}

// bombard sends b.N events, in batches, by 16 clients.
func bombard(b *testing.B, s *server, batch int) {
	c, err := client.New(client.Options{URL: s.url})
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	before := cpuOf(s)
	b.ResetTimer()
	work := make(chan error)
	const clients = 16
	for range clients {
		go func() {
			for {
				from := next.Add(int64(batch)) - int64(batch)
				if from >= int64(b.N) {
					work <- nil
					return
				}
				events := make([]andon.Event, min(int64(batch), int64(b.N)-from))
				for i := range events {
					events[i] = andon.Event{
						Device: andon.DeviceID(fmt.Sprintf("press-%d", (from+int64(i))%10_000)),
						Time:   andon.Time(1_700_000_000_000_000 + (from+int64(i))*1_000),
						State:  "WARNING1", Operator: "Liz", Message: "hydraulic pressure is low",
					}
				}
				if _, err := c.AppendEvents(b.Context(), events); err != nil {
					work <- err
					return
				}
			}
		}()
	}
	for range clients {
		if err := <-work; err != nil {
			b.Fatal(err)
		}
	}
	report(b, cpuOf(s)-before)
}

func report(b *testing.B, used time.Duration) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(used.Microseconds())/float64(b.N), "µs-cpu/event")
}

func cpuOf(s *server) time.Duration { return enginetest.CPUTime(s.cmd.Process.Pid) }
