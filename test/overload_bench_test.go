package test

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkOverload finds the rate of requests of 200 events that a server sustains, and then sends
// three times as many, whether or not they are answered, as senders do that do not know of each
// other. It reports how long accepted requests took from when they were due, and what share of the
// sustained rate was still accepted. The senders share the machine with the server.
func BenchmarkOverload(b *testing.B) {
	const each, connections, times, length = 200, 6000, 3, 10 * time.Second
	s := start(b, "--data", b.TempDir(), "--log-level", "error")
	f := newFlood(b, s, connections)
	for b.Loop() {
		var sent atomic.Int64
		body := func() []byte { return eventsAt(each, sent.Add(1)) }
		sustained := f.closed(16, length/2, body)
		due, accepted, refused := f.open(connections, times*sustained, length, body)
		b.ReportMetric(sustained*each, "sustained-events/s")
		b.ReportMetric(due*each, "sent-events/s")
		b.ReportMetric(float64(len(accepted))/length.Seconds()*each, "accepted-events/s")
		b.ReportMetric(seconds(accepted, 50), "accepted-p50-s")
		b.ReportMetric(seconds(accepted, 99), "accepted-p99-s")
		b.ReportMetric(seconds(refused, 99), "refused-p99-s")
	}
}

// closed has clients send again at once, and returns the accepted requests in a second.
func (f *flood) closed(clients int, length time.Duration, body func() []byte) float64 {
	var accepted atomic.Int64
	var all sync.WaitGroup
	from := time.Now()
	for range clients {
		all.Go(func() {
			for time.Since(from) < length {
				if f.send(http.MethodPost, "/api/v1/events", body(), nil) == http.StatusOK {
					accepted.Add(1)
				}
			}
		})
	}
	all.Wait()
	return float64(accepted.Load()) / time.Since(from).Seconds()
}

// open sends at a rate, and returns the rate that it kept up and how long the answers took from
// when their requests were due.
func (f *flood) open(
	connections int, rate float64, length time.Duration, body func() []byte,
) (due float64, accepted, refused []time.Duration) {
	var next atomic.Int64
	var mu sync.Mutex
	var all sync.WaitGroup
	from := time.Now()
	for range connections {
		all.Go(func() {
			for {
				at := time.Duration(float64(next.Add(1)) / rate * float64(time.Second))
				if at > length {
					return
				}
				<-time.After(at - time.Since(from))
				status := f.send(http.MethodPost, "/api/v1/events", body(), nil)
				took := time.Since(from) - at
				mu.Lock()
				if status == http.StatusOK {
					accepted = append(accepted, took)
				} else {
					refused = append(refused, took)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(accepted)
	slices.Sort(refused)
	return float64(len(accepted)+len(refused)) / time.Since(from).Seconds(), accepted, refused
}

func seconds(sorted []time.Duration, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*percent/100].Seconds()
}

// eventsAt is a body of n events of as many devices, all at one time.
func eventsAt(n int, at int64) []byte {
	text := []byte{'['}
	for k := range n {
		if k > 0 {
			text = append(text, ',')
		}
		text = append(text, `{"device":"press-`...)
		text = strconv.AppendInt(text, int64(k), 10)
		text = append(text, `","time":`...)
		text = strconv.AppendInt(text, 1_700_000_000_000+at, 10)
		text = append(text, `,"state":"WARNING1","message":"overheat","operator":"Liz"}`...)
	}
	return append(text, ']')
}
