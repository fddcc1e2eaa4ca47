package test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkOverload finds the rate of requests of 200 events that a server sustains, and then sends
// three times as many, whether or not they are answered, as senders do that do not know of each
// other. It reports how long accepted requests took from when they were due, and what share of the
// sustained rate was still accepted.
//
// The server has one core and the senders another, and a sender writes bytes that are ready: else
// the senders could not send as much, and their own delay would be taken for the server's. How late
// they were themselves is reported, too: from when a request was due to when it was sent, where a
// connection was free.
func BenchmarkOverload(b *testing.B) {
	const connections, times, length = 6000, 3, 10 * time.Second
	b.Setenv("GOMAXPROCS", "1") // the server inherits it
	s := start(b, "--data", b.TempDir(), "--log-level", "error")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	o := overload{b: b, address: strings.TrimPrefix(s.url, "http://")}
	for b.Loop() {
		o.reset()
		sustained := o.closed(64, length)
		o.reset()
		took := o.open(connections, times*sustained, length)
		sent := float64(len(o.accepted) + len(o.refused))
		b.ReportMetric(sustained*overloadEvents, "sustained-events/s")
		b.ReportMetric(sent/took.Seconds()*overloadEvents, "sent-events/s")
		b.ReportMetric(float64(len(o.accepted))/took.Seconds()*overloadEvents, "accepted-events/s")
		b.ReportMetric(seconds(o.accepted, 50), "accepted-p50-s")
		b.ReportMetric(seconds(o.accepted, 99), "accepted-p99-s")
		b.ReportMetric(seconds(o.refused, 99), "refused-p99-s")
		b.ReportMetric(seconds(o.late, 99), "sender-late-p99-s")
	}
}

// overloadEvents is how many events a request has.
const overloadEvents = 200

// overload is what its senders found.
type overload struct {
	b       *testing.B
	address string
	sent    atomic.Int64

	mu                      sync.Mutex
	accepted, refused, late []time.Duration
}

func (o *overload) reset() { o.accepted, o.refused, o.late = nil, nil, nil }

// closed has clients send again at once, and returns the accepted requests in a second.
func (o *overload) closed(clients int, length time.Duration) float64 {
	from := time.Now()
	o.callers(clients, func(s *caller) bool {
		if time.Since(from) >= length {
			return false
		}
		o.count(s.send(), 0)
		return true
	})
	return float64(len(o.accepted)) / time.Since(from).Seconds()
}

// open sends at a rate, and returns how long it took until all were answered.
func (o *overload) open(connections int, rate float64, length time.Duration) time.Duration {
	var next atomic.Int64
	from := time.Now()
	o.callers(connections, func(s *caller) bool {
		due := time.Duration(float64(next.Add(1)) / rate * float64(time.Second))
		if due > length {
			return false
		}
		if wait := due - time.Since(from); wait > 0 {
			<-time.After(wait)
			o.mu.Lock()
			o.late = append(o.late, time.Since(from)-due)
			o.mu.Unlock()
		}
		status := s.send()
		o.count(status, time.Since(from)-due)
		return true
	})
	took := time.Since(from)
	for _, d := range [][]time.Duration{o.accepted, o.refused, o.late} {
		slices.Sort(d)
	}
	return took
}

func (o *overload) count(status int, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch status {
	case http.StatusOK:
		o.accepted = append(o.accepted, took)
	case http.StatusTooManyRequests:
		o.refused = append(o.refused, took)
	default:
		o.b.Errorf("answered %d", status)
	}
}

// callers has n callers work until work returns false.
func (o *overload) callers(n int, work func(*caller) bool) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			s := newCaller(o)
			defer s.close()
			for work(s) {
			}
		})
	}
	all.Wait()
}

// caller has one connection, and a request that is ready but for its time.
type caller struct {
	of      *overload
	conn    net.Conn // nil: to be opened
	answers *bufio.Reader
	request []byte
	times   []int // where the time of each event is in the request
}

const overloadTime = "1700000000000"

func newCaller(o *overload) *caller {
	s := &caller{of: o}
	var body bytes.Buffer
	for k := range overloadEvents {
		fmt.Fprintf(&body, `,{"device":"press-%d","time":%s,"state":"WARNING1",`+
			`"message":"overheat","operator":"Liz"}`, k, overloadTime)
	}
	body.Bytes()[0] = '['
	body.WriteByte(']')
	s.request = fmt.Appendf(nil, "POST /api/v1/events HTTP/1.1\r\nHost: %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		o.address, body.Len(), &body)
	for at := 0; ; {
		i := bytes.Index(s.request[at:], []byte(overloadTime))
		if i < 0 {
			return s
		}
		s.times = append(s.times, at+i)
		at += i + 1
	}
}

// send sends a request with a time of its own, and returns the status of its answer.
func (s *caller) send() int {
	at := fmt.Appendf(nil, "%d", 1_700_000_000_000+s.of.sent.Add(1))
	for _, i := range s.times {
		copy(s.request[i:], at)
	}
	answer, err := s.exchange()
	if err != nil {
		s.of.b.Error(err) // whatever happens, a client gets an answer
		s.close()
		return http.StatusTooManyRequests
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	if answer.Close {
		s.close()
	}
	return answer.StatusCode
}

func (s *caller) exchange() (*http.Response, error) {
	if s.conn == nil {
		conn, err := net.Dial("tcp", s.of.address)
		if err != nil {
			return nil, err
		}
		s.conn, s.answers = conn, bufio.NewReader(conn)
	}
	if _, err := s.conn.Write(s.request); err != nil {
		return nil, err
	}
	return http.ReadResponse(s.answers, nil)
}

func (s *caller) close() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

func seconds(sorted []time.Duration, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*percent/100].Seconds()
}
