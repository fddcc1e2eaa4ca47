package test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
)

// BenchmarkKafka reads a topic of a million events with a consumer that only counts them, and then
// with a server on the embedded store, which keeps them. It reports how fast both are, and what the
// server takes meanwhile: CPU, and the most memory that it had. The second time the server archives
// another million, of ten days, while it reads.
func BenchmarkKafka(b *testing.B) {
	const events = 1_000_000
	broker := enginetest.Kafka(b)
	s := &stream{devices: 100_000}
	for _, archived := range []bool{false, true} {
		b.Run(fmt.Sprint("archives=", archived), func(b *testing.B) {
			for b.Loop() {
				settings, archive := "log.level: error\ndata: "+b.TempDir(), b.TempDir()
				if archived {
					past := topicOf(b, broker, events, func(i int) *kgo.Record {
						e := s.event(i)
						at := e.Time.Add(-20 * day).Add(day / 100_000 * andon.Duration(i))
						return &kgo.Record{Value: fmt.Appendf(nil,
							`{"device":%q,"time":%d,"state":%q,"message":%q}`,
							e.Device, at/1000, e.State, e.Message)}
					})
					a := start(b, "--config", kafkaSettings(b, broker, past, settings, ""))
					a.awaitEntries(b, events)
					a.end(syscall.SIGTERM, 0)
					settings += "\narchive: [{name: cold, every: 1s, to: " + archive + "}]"
				}
				topic := topicOf(b, broker, events, s.record)
				counted := countRecords(b, broker, topic, events)
				a := start(b, "--config", kafkaSettings(b, broker, topic, settings, ""))
				from, cpu := time.Now(), enginetest.CPUTime(a.cmd.Process.Pid)
				a.awaitEntries(b, events)
				took := time.Since(from)
				cpu = enginetest.CPUTime(a.cmd.Process.Pid) - cpu
				if archived {
					a.awaitArchived(b, archive, 10)
				}
				b.ReportMetric(events/counted.Seconds(), "counted/s")
				b.ReportMetric(events/took.Seconds(), "kept/s")
				b.ReportMetric(counted.Seconds()/took.Seconds(), "kept/counted")
				b.ReportMetric(float64(cpu.Nanoseconds())/1000/events, "µs-CPU/event")
				b.ReportMetric(peakMB(b, a.cmd.Process.Pid), "peak-MB")
			}
		})
	}
}

const day = 86_400 * andon.Duration(1_000_000)

// topicOf makes a topic with so many records.
func topicOf(
	b *testing.B, broker *enginetest.Broker, n int, record func(i int) *kgo.Record,
) (topic string) {
	topic = fmt.Sprint("bench", time.Now().UnixNano())
	p := newTopic(b, broker, topic, 4)
	for i := range n {
		p.Produce(b.Context(), record(i), nil)
	}
	if err := p.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	return topic
}

// awaitArchived waits until an archive has events of so many days. Of a day there may be more than
// one part, and each has a first. A server that has ended answers no request for a metric.
func (s *server) awaitArchived(b *testing.B, archive string, days int) {
	for {
		first, err := filepath.Glob(archive + "/tenant=*/kind=events/date=*/part-0001.parquet")
		if err != nil {
			b.Fatal(err)
		}
		if len(first) >= days {
			return
		}
		s.metric(b, `andon_source_entries_total{source="machines"}`)
		<-time.After(time.Second)
	}
}

// awaitEntries waits until so many have come from Kafka.
func (s *server) awaitEntries(b *testing.B, n float64) {
	for s.metric(b, `andon_source_entries_total{source="machines"}`) < n {
		<-time.After(100 * time.Millisecond) // to ask costs it some milliseconds of CPU
	}
}

// countRecords returns how long a consumer of a group takes that only counts.
func countRecords(
	b *testing.B, broker *enginetest.Broker, topic string, events int,
) time.Duration {
	b.Helper()
	from := time.Now()
	c, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr), kgo.ConsumeTopics(topic),
		kgo.ConsumerGroup("counting"+topic))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	for n := 0; n < events; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			b.Fatal(err)
		}
		n += fetches.NumRecords()
	}
	return time.Since(from)
}

// metric returns the value of a series of /metrics, 0 where it is not there yet.
func (s *server) metric(t testing.TB, series string) float64 {
	t.Helper()
	for line := range strings.Lines(s.send(t, "GET", "/metrics", "", "")) {
		if value, is := strings.CutPrefix(line, series+" "); is {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

// peakMB is the most memory that a process has had, in MB; 0 where it can't be seen.
func peakMB(t testing.TB, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	if err != nil || found == nil {
		return 0
	}
	kB, _ := strconv.ParseFloat(string(found[1]), 64)
	return kB / 1000
}
