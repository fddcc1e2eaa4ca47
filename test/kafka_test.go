package test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
)

// kafkaSettings writes a file of settings with a source that reads a topic.
// more is settings of the source, and what comes after it.
func kafkaSettings(
	t testing.TB, b *enginetest.Broker, topic, store, more string,
) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "andon.yaml")
	text := fmt.Sprintf("%s\nkafka.sources:\n- name: machines\n  brokers: [%q]\n"+
		"  topics: [%q]\n%s", store, b.Addr, topic, more)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// newTopic makes a topic with some partitions, and a client that writes to it.
func newTopic(t testing.TB, b *enginetest.Broker, topic string, partitions int32) *kgo.Client {
	t.Helper()
	p, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.DefaultProduceTopic(topic),
		kgo.MetadataMinAge(100*time.Millisecond), kgo.UnknownTopicRetries(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	r := kmsg.NewPtrCreateTopicsRequest()
	one := kmsg.NewCreateTopicsRequestTopic()
	one.Topic, one.NumPartitions, one.ReplicationFactor = topic, partitions, 1
	r.Topics = append(r.Topics, one)
	if _, err := r.RequestWith(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// stream is events that go through Kafka: the entry i is of the device i modulo how many there are.
type stream struct {
	devices int
	rate    int // events a second
	sent    atomic.Int64
	failed  atomic.Pointer[error]
}

const streamFrom = andon.Time(1_760_000_000_000_000)

func (s *stream) device(i int) andon.DeviceID {
	return andon.DeviceID(fmt.Sprint("d", i%s.devices))
}

func (s *stream) event(i int) andon.Event {
	states := []andon.State{"NORMAL", "WARNING1", "WARNING2"}
	return andon.Event{
		Device: s.device(i), Time: streamFrom + andon.Time(i)*1000,
		State: states[i/s.devices/3%3], Message: fmt.Sprint("m", i),
	}
}

func (s *stream) record(i int) *kgo.Record {
	e := s.event(i)
	return &kgo.Record{Key: []byte(e.Device), Value: fmt.Appendf(nil,
		`{"device":%q,"time":%d,"state":%q,"message":%q}`,
		e.Device, e.Time/1000, e.State, e.Message)}
}

// produce sends at the rate until the context ends, and waits until all is acknowledged.
func (s *stream) produce(ctx context.Context, p *kgo.Client) {
	from := time.Now()
	for ctx.Err() == nil {
		due := int64(time.Since(from).Seconds() * float64(s.rate))
		for i := s.sent.Load(); i < due; i = s.sent.Add(1) {
			p.Produce(context.WithoutCancel(ctx), s.record(int(i)), func(_ *kgo.Record, err error) {
				if err != nil {
					s.failed.Store(&err)
				}
			})
		}
		<-time.After(5 * time.Millisecond)
	}
	if err := p.Flush(context.Background()); err != nil {
		s.failed.Store(&err)
	}
}

// check waits until a server has as many entries as were sent, and compares them all.
func (s *stream) check(t *testing.T, c *client.Client) {
	t.Helper()
	if err := s.failed.Load(); err != nil {
		t.Fatalf("produce: %v", *err)
	}
	sent := int(s.sent.Load())
	eventually(t, 10*patience, "the newest entry of each device is there", func() error {
		for i := max(0, sent-s.devices); i < sent; i++ {
			d, err := c.Device(t.Context(), s.device(i))
			if want := s.event(i); err != nil || d.Time != want.Time {
				return fmt.Errorf("%s has %s, %v, want %s", want.Device, d.Time, err, want.Time)
			}
		}
		return nil
	})
	for d := range min(sent, s.devices) {
		got := collect(t, c.DeviceEvents(t.Context(), s.device(d), client.Query{Order: andon.Asc}))
		var want []andon.Event
		for i := d; i < sent; i += s.devices {
			want = append(want, s.event(i))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: %d entries, want %d (-want +got):\n%.2000s",
				s.device(d), len(got), len(want), diff)
		}
	}
}

// killKafka sends a stream through a broker to processes on one store, and kills processes and
// broker, again and again. Nothing is lost, and nothing is there twice.
func killKafka(t *testing.T, b *enginetest.Broker, s *stream, processes, kills int,
	serve func() *server,
) {
	t.Helper()
	running := make([]*server, processes)
	for i := range running {
		running[i] = serve()
	}
	p := newTopic(t, b, "kills", 4)
	ctx, stop := context.WithCancel(t.Context())
	var producing sync.WaitGroup
	producing.Go(func() { s.produce(ctx, p) })
	for n := range kills {
		<-time.After(time.Second/2 + time.Duration(rand.Int64N(int64(time.Second))))
		if n%3 > 0 {
			if err := b.End(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		if i := n % processes; n%3 < 2 {
			running[i].end(syscall.SIGKILL, -1)
			running[i] = serve()
		}
		if n%3 > 0 {
			if err := b.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop()
	producing.Wait()
	s.check(t, newClient(t, running[0]))
	t.Logf("%d events, %d kills", s.sent.Load(), kills)
}

func killsOf(short int) int {
	if os.Getenv(enginetest.LongTests) != "" {
		return 20
	}
	return short
}

// TestSerialKillKafkaToPebble sends 10,000 events a second to one process.
func TestSerialKillKafkaToPebble(t *testing.T) {
	t.Parallel() // it waits for Java most of the time
	b := enginetest.OwnKafka(t)
	path := kafkaSettings(t, b, "kills", "data: "+t.TempDir(), "")
	killKafka(t, b, &stream{devices: 200, rate: 10_000}, 1, killsOf(2), func() *server {
		return serveQuietly(t, "--config", path)
	})
}

// TestSerialKillKafkaToDynamoDB has two processes in a group.
func TestSerialKillKafkaToDynamoDB(t *testing.T) {
	long(t)
	b := enginetest.OwnKafka(t)
	store, err := os.ReadFile(dynamoSettings(t))
	if err != nil {
		t.Fatal(err)
	}
	path := kafkaSettings(t, b, "kills", string(store), "")
	killKafka(t, b, &stream{devices: 200, rate: 500}, 2, killsOf(3), func() *server {
		return serveQuietly(t, "--config", path)
	})
}

// TestSerialKillKafkaToCassandra has two processes in a group.
func TestSerialKillKafkaToCassandra(t *testing.T) {
	long(t)
	b := enginetest.OwnKafka(t)
	k := newKeyspace(t, []string{enginetest.Cassandra(t).Addr()}, "tables")
	path := kafkaSettings(t, b, "kills", "", "")
	killKafka(t, b, &stream{devices: 200, rate: 1000}, 2, killsOf(3), func() *server {
		return k.serve(t, "--config", path)
	})
}

func long(t *testing.T) {
	t.Helper()
	if os.Getenv(enginetest.LongTests) == "" {
		t.Skipf("it takes minutes: %s=1 or make test-long runs it", enginetest.LongTests)
	}
}

// TestSerialKafkaAsUsersDo sends with Apache's own console producer, and asks Andon. What Andon
// refuses is in the list of rejections.
func TestSerialKafkaAsUsersDo(t *testing.T) {
	t.Parallel() // it waits for Java most of the time
	b := enginetest.Kafka(t)
	newTopic(t, b, "plant.machines", 1)
	mapping := filepath.Join(t.TempDir(), "mapping.yaml")
	const text = `
device: "{header:line}/{key}"
time: $.at
state: $.status
states: {names: {ok: NORMAL, hot: WARNING2}}
message: "{$.degrees} degrees"
`
	if err := os.WriteFile(mapping, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveQuietly(t, "--config", kafkaSettings(t, b, "^plant\\.", "data: "+t.TempDir(),
		"  mapping: "+mapping+"\n"))
	send := b.Tool("org.apache.kafka.tools.ConsoleProducer", "--topic", "plant.machines",
		"--property", "parse.key=true", "--property", "parse.headers=true")
	send.Stdin = strings.NewReader(
		`line:L1|press-1|{"at":"2026-01-01T00:00:00Z","status":"hot","degrees":90}
line:L1|press-1|{"at":"2026-01-01T00:01:00Z","status":"ok","degrees":50}
line:L1|press-1|{"at":"2999-01-01T00:00:00Z","status":"ok","degrees":50}
line:L2|press-1|{"at":"2026-01-01T00:02:00Z","status":"hot","degrees":99}
`)
	send.Args = append(send.Args, "--property", "key.separator=|",
		"--property", "headers.delimiter=|")
	if out, err := send.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := newClient(t, s)
	eventually(t, patience, "the last message is there", func() error {
		_, err := c.Device(t.Context(), "L2/press-1")
		return err
	})
	var got []string
	for _, e := range collect(t, c.DeviceEvents(t.Context(), "L1/press-1", client.Query{})) {
		got = append(got, fmt.Sprint(e.Time, " ", e.State, " ", e.Message))
	}
	want := []string{
		"2026-01-01T00:01:00Z NORMAL 50 degrees", "2026-01-01T00:00:00Z WARNING2 90 degrees",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("press-1 had (-want +got):\n%s", diff)
	}
	refused := s.send(t, "GET", "/api/v1/rejections", "", "")
	if !strings.Contains(refused, `"plant.machines/0/2"`) {
		t.Errorf("the rejections are %s", refused)
	}
}

// TestSerialFeedToKafka reads what a feed has written with Apache's own console consumer.
func TestSerialFeedToKafka(t *testing.T) {
	t.Parallel() // it waits for Java most of the time
	b := enginetest.Kafka(t)
	written := newTopic(t, b, "shown", 3)
	path := filepath.Join(t.TempDir(), "andon.yaml")
	text := fmt.Sprintf("data: %s\nfeeds:\n- name: shown\n  tenants: default\n  kind: kafka\n"+
		"  start: snapshot\n  brokers: [%q]\n  topic: shown\n", t.TempDir(), b.Addr)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveQuietly(t, "--config", path)
	const json = "application/json"
	read := func(n int) (lines []string) {
		out, err := b.Tool("org.apache.kafka.tools.consumer.ConsoleConsumer", "--topic", "shown",
			"--from-beginning", "--property", "print.key=true",
			"--max-messages", fmt.Sprint(n), "--timeout-ms", "60000").Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
			_, after, _ := strings.Cut(value, `"after":"`)
			after, _, _ = strings.Cut(after, `"`)
			lines = append(lines, strings.TrimSpace(key+" "+after))
		}
		slices.Sort(lines) // of each partition they are in order
		return lines
	}
	s.send(t, "POST", "/api/v1/events", json,
		`{"device":"press-1","time":"2026-01-01T00:00:00Z","state":"WARNING1"}`)
	written.AddConsumeTopics("shown")
	written.PollFetches(t.Context()) // the feed runs
	for i, state := range []string{"NORMAL", "WARNING2"} {
		s.send(t, "POST", "/api/v1/events", json, fmt.Sprintf(
			`{"device":"press-1","time":"2026-01-01T00:01:0%dZ","state":%q}`, i, state))
	}
	s.send(t, "POST", "/api/v1/events", json, `{"device":"press-2","state":"NORMAL"}`)
	s.send(t, "DELETE", "/api/v1/devices/press-2", "", "")
	want := []string{
		"press-1 NORMAL", "press-1 WARNING1", "press-1 WARNING2", "press-2", "press-2 NORMAL",
	}
	if diff := cmp.Diff(want, read(5)); diff != "" {
		t.Errorf("the topic has (-want +got):\n%s", diff)
	}
}
