package httpapi_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkStreams has 5,000 clients follow a fleet that changes 100 times a second, for as many
// seconds as b.N. It reports the time from when a change was sent to when a client has it, and the
// memory of a stream with its client, which is in the same process. Run it with -benchtime 10x.
func BenchmarkStreams(b *testing.B) {
	const streams, rate = 5_000, 100
	w := newWorld(b)
	w.event("press-0", "2020-04-24T11:00:00Z", "NORMAL")
	before := inUse()
	f := followers{took: make([][]time.Duration, streams)}
	for i := range streams {
		f.follow(b, i, strings.TrimPrefix(w.url, "http://"))
	}
	f.begun.Wait()
	each := float64(inUse()-before) / streams
	b.ResetTimer()
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	for n := range b.N * rate {
		<-tick.C
		w.post("/events", fmt.Sprintf(
			`{"device":"press-%d","time":"2020-04-24T11:00:00.%06dZ","state":"S%d",`+
				`"message":"@%d@"}`, n%50, n, n%7, time.Now().UnixNano())).is(http.StatusOK)
	}
	<-time.After(time.Second) // what is on its way
	b.StopTimer()
	all := f.end()
	slices.Sort(all)
	b.ReportMetric(each, "B/stream")
	b.ReportMetric(float64(len(all))/float64(b.N*rate)/streams, "received/sent")
	b.ReportMetric(float64(all[len(all)/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Milliseconds()), "p99-ms")
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// followers are clients that read streams and note how long each change was on its way.
type followers struct {
	connections []net.Conn
	begun, gone sync.WaitGroup
	took        [][]time.Duration
}

func (f *followers) follow(b *testing.B, i int, address string) {
	c, err := net.Dial("tcp", address)
	if err == nil {
		_, err = fmt.Fprintf(c, "GET %s/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n", base)
	}
	if err != nil {
		b.Fatal(err)
	}
	f.connections = append(f.connections, c)
	f.begun.Add(1)
	f.gone.Go(func() {
		buffer, kept := make([]byte, 16<<10), 0
		for first := true; ; first = false {
			n, err := c.Read(buffer[kept:])
			if err != nil {
				return
			}
			if first {
				f.begun.Done()
			}
			f.took[i], kept = received(f.took[i], buffer[:kept+n])
		}
	})
}

// received notes the changes in what came, and moves what is not whole to its beginning.
func received(took []time.Duration, text []byte) (all []time.Duration, kept int) {
	now := time.Now().UnixNano()
	whole := text
	for {
		_, rest, ok := bytes.Cut(text, []byte(`"@`))
		sent, after, more := bytes.Cut(rest, []byte(`@"`))
		if !ok || !more {
			break
		}
		at, _ := strconv.ParseInt(string(sent), 10, 64)
		took, text = append(took, time.Duration(now-at)), after
	}
	if len(text) > 2<<10 {
		text = text[len(text)-2<<10:]
	}
	return took, copy(whole, text)
}

func (f *followers) end() (all []time.Duration) {
	for _, c := range f.connections {
		c.Close()
	}
	f.gone.Wait()
	for _, took := range f.took {
		all = append(all, took...)
	}
	return all
}
