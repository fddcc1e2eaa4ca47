package test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/andonhq/andon/internal/enginetest"
)

// BenchmarkKafka reads a topic of a million events with a consumer that only counts them, and then
// with a server on the embedded store, which keeps them. It reports how fast both are, and what the
// server takes meanwhile: CPU, and the most memory that it had.
func BenchmarkKafka(b *testing.B) {
	const events = 1_000_000
	broker := enginetest.Kafka(b)
	s := &stream{devices: 100_000}
	for b.Loop() {
		topic := fmt.Sprint("bench", time.Now().UnixNano())
		p := newTopic(b, broker, topic, 4)
		for i := range events {
			p.Produce(b.Context(), s.record(i), nil)
		}
		if err := p.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
		counted := countRecords(b, broker, topic, events)
		settings := "log.level: error\ndata: " + b.TempDir()
		a := start(b, "--config", kafkaSettings(b, broker, topic, settings, ""))
		from, cpu := time.Now(), enginetest.CPUTime(a.cmd.Process.Pid)
		for a.metric(b, `andon_source_entries_total{source="machines"}`) < events {
			<-time.After(100 * time.Millisecond) // to ask costs it some milliseconds of CPU
		}
		took := time.Since(from)
		cpu = enginetest.CPUTime(a.cmd.Process.Pid) - cpu
		b.ReportMetric(events/counted.Seconds(), "counted/s")
		b.ReportMetric(events/took.Seconds(), "kept/s")
		b.ReportMetric(counted.Seconds()/took.Seconds(), "kept/counted")
		b.ReportMetric(float64(cpu.Nanoseconds())/1000/events, "µs-CPU/event")
		b.ReportMetric(peakMB(b, a.cmd.Process.Pid), "peak-MB")
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
