package kafka

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/mapping"
)

// patience is how long a test waits for what takes milliseconds on a machine that is not busy.
const patience = time.Minute

// kept is a Writer that keeps what it is given, and waits where it is told to.
type kept struct {
	mu       sync.Mutex
	messages []mapping.Message
	gate     chan struct{} // nil, or Write waits until it is closed
	waiting  chan struct{} // told when Write begins to wait
	broken   int           // how often Write was broken off
}

func (k *kept) Write(ctx context.Context, messages []mapping.Message) error {
	if k.gate != nil {
		select {
		case k.waiting <- struct{}{}:
		default:
		}
		select {
		case <-k.gate:
		case <-ctx.Done():
			k.mu.Lock()
			defer k.mu.Unlock()
			k.broken++
			return context.Cause(ctx)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range messages {
		m.Value = bytes.Clone(m.Value)
		k.messages = append(k.messages, m)
	}
	return nil
}

func closedGate() (gate, waiting chan struct{}) {
	return make(chan struct{}), make(chan struct{}, 1)
}

// values returns what was written of each partition, in order.
func (k *kept) values() map[string][]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := map[string][]string{}
	for _, m := range k.messages {
		from := m.Place[:strings.LastIndexByte(m.Place, '/')]
		all[from] = append(all[from], string(m.Value))
	}
	return all
}

func (k *kept) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.messages)
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// reading is a consumer that runs.
type reading struct {
	*Consumer
	log  *logged
	stop func()
}

// read runs a consumer of topics until the test ends.
func read(t *testing.T, w Writer, brokers []string, topics ...string) *reading {
	t.Helper()
	var s Source
	s.ConfigGroup()
	s.Name, s.Brokers, s.Topics = "test", brokers, topics
	return s.read(t, w)
}

func (s Source) read(t *testing.T, w Writer) *reading {
	t.Helper()
	log := &logged{}
	now := func() andon.Time { return andon.TimeOf(time.Now()) }
	c, err := NewConsumer(&s, false, now, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	c.grace = 50 * time.Millisecond
	c.options = append(c.options, // to look for topics more often
		kgo.MetadataMinAge(50*time.Millisecond), kgo.MetadataMaxAge(100*time.Millisecond))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := c.Run(ctx, w); err != nil {
			t.Error(err)
		}
	}()
	r := &reading{c, log, sync.OnceFunc(func() { cancel(); <-ended })}
	t.Cleanup(r.stop)
	return r
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for from := time.Now(); !is(); <-time.After(5 * time.Millisecond) {
		if time.Since(from) > patience {
			t.Fatalf("it takes too long until %s", what)
		}
	}
}

func newCluster(t *testing.T, o ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, o...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// keys is how many keys there are.
const keys = 100

// produce writes records to a topic.
func produce(t *testing.T, brokers []string, topic string, from, to int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var records []*kgo.Record
	for i := from; i < to; i++ {
		records = append(records, kgo.KeyStringRecord(fmt.Sprint("k", i%keys), fmt.Sprint(i)))
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// committed returns the sum of the offsets that a group has committed.
func committed(c *kfake.Cluster, topic string) (sum int64) {
	if g := c.GroupInfo("andon"); g != nil {
		for _, at := range g.Commits[topic] {
			sum += at.Offset
		}
	}
	return sum
}

// checkAll: each of the numbers below n was written, in the order of its key, and committed. again
// says that some may have been written twice.
func checkAll(t *testing.T, k *kept, n int, again bool) {
	t.Helper()
	seen := map[string]int{}
	for from, values := range k.values() {
		last := map[int]int{}
		for _, v := range values {
			var i int
			fmt.Sscan(v, &i)
			if before, is := last[i%keys]; is && i <= before && !again {
				t.Errorf("%s: %d comes after %d", from, i, before)
			}
			last[i%keys] = i
			seen[v]++
		}
	}
	for i := range n {
		if times := seen[fmt.Sprint(i)]; times == 0 || times > 1 && !again {
			t.Errorf("%d was written %d times", i, times)
		}
	}
	if len(seen) != n {
		t.Errorf("%d values were written, want %d", len(seen), n)
	}
}

// TestReads: all messages come, in the order of each partition, with what belongs to them, and are
// committed; the next member of the group goes on after them.
func TestReads(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(3, "t"))
	produce(t, c.ListenAddrs(), "t", 0, 500)
	k := &kept{}
	r := read(t, k, c.ListenAddrs(), "t")
	eventually(t, "all is committed", func() bool { return committed(c, "t") == 500 })
	checkAll(t, k, 500, false)
	if n := r.Behind(); n != 0 {
		t.Errorf("it is %d records behind", n)
	}
	r.stop()
	if m := c.GroupInfo("andon").Members; len(m) != 0 {
		t.Errorf("the group has members after the end: %v", m)
	}
	produce(t, c.ListenAddrs(), "t", 500, 600)
	read(t, k, c.ListenAddrs(), "t")
	eventually(t, "the rest is committed", func() bool { return committed(c, "t") == 600 })
	checkAll(t, k, 600, false)
}

// TestWaits: while the store is slow nothing is committed and not all is read, but the member stays
// in the group.
func TestWaits(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "t"))
	big := make([]byte, 100_000) // of what can't be compressed
	rand.Read(big)
	client, _ := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic("t"))
	defer client.Close()
	for range 200 {
		if err := client.ProduceSync(t.Context(), kgo.SliceRecord(big)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	k := &kept{}
	k.gate, k.waiting = closedGate()
	beats := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Observe: true, Count: -1})
	r := read(t, k, c.ListenAddrs(), "t")
	<-k.waiting
	if err := beats.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if n := r.client.BufferedFetchBytes(); n > 2*fetchBytes {
		t.Errorf("%d bytes are in the buffer", n)
	}
	if n := committed(c, "t"); n != 0 || r.Behind() != 200 {
		t.Errorf("%d are committed, and it is %d behind", n, r.Behind())
	}
	close(k.gate)
	eventually(t, "all is committed", func() bool { return committed(c, "t") == 200 })
	if k.broken > 0 || k.count() != 200 {
		t.Errorf("%d writes were broken off, %d messages were written", k.broken, k.count())
	}
}

// TestRebalanceWhileWriting: a second member joins while the first one can't write. Partitions
// change hands; what was not written is written by who has it then, and nothing that is committed
// was not.
func TestRebalanceWhileWriting(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(4, "t"))
	produce(t, c.ListenAddrs(), "t", 0, 500)
	first := &kept{}
	first.gate, first.waiting = closedGate()
	read(t, first, c.ListenAddrs(), "t")
	<-first.waiting
	second := &kept{}
	read(t, second, c.ListenAddrs(), "t")
	eventually(t, "the second member has partitions", func() bool { return second.count() > 0 })
	if n := committed(c, "t"); n > int64(second.count()) {
		t.Errorf("%d are committed, and %d written", n, second.count())
	}
	close(first.gate)
	eventually(t, "all is committed", func() bool { return committed(c, "t") == 500 })
	if first.broken == 0 {
		t.Error("no write was broken off")
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(first.values())), func(p string) bool {
		return second.values()[p] != nil
	}) {
		t.Error("both members have written one partition")
	}
	first.messages = append(first.messages, second.messages...)
	checkAll(t, first, 500, false)
}

// TestMemberThatIsLate: a member that was taken for dead commits nothing that is another one's.
func TestMemberThatIsLate(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "t"))
	produce(t, c.ListenAddrs(), "t", 0, 100)
	late := &kept{}
	late.gate, late.waiting = closedGate()
	r := read(t, late, c.ListenAddrs(), "t")
	<-late.waiting
	// The coordinator knows it no more.
	gone := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.UnknownMemberID})
	close(late.gate)
	if err := gone.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it says so", func() bool { return strings.Contains(r.log.String(), "commit") })
	if n := committed(c, "t"); n != 0 {
		t.Errorf("%d are committed", n)
	}
	produce(t, c.ListenAddrs(), "t", 100, 101)
	eventually(t, "the next commit is for all", func() bool { return committed(c, "t") == 101 })
	checkAll(t, late, 101, true)
	eventually(t, "it says that all is well", func() bool {
		return strings.Contains(r.log.String(), "works again")
	})
}

// TestFaults: brokers that close connections, that are not the leader, that are busy: all messages
// come.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(c *kfake.Cluster, over *atomic.Bool){
		"closed connections": func(c *kfake.Cluster, over *atomic.Bool) {
			n := 0
			c.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				n++
				closed := n%5 == 0 && r.Key() != int16(kmsg.ApiVersions) && !over.Load()
				return nil, errors.New("closed"), closed
			})
		},
		"another leader": func(c *kfake.Cluster, _ *atomic.Bool) {
			c.Fault(kfake.Fault{
				Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: 3,
			})
		},
		"commits": func(c *kfake.Cluster, _ *atomic.Bool) {
			c.Fault(kfake.Fault{
				Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.NotCoordinator, Count: 3,
			})
		},
		"group": func(c *kfake.Cluster, _ *atomic.Bool) {
			c.Fault(kfake.Fault{
				Keys: []kmsg.Key{kmsg.JoinGroup}, Err: kerr.GroupAuthorizationFailed, Count: 2,
				TopLevel: true,
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, kfake.SeedTopics(2, "t"))
			produce(t, c.ListenAddrs(), "t", 0, 100)
			var over atomic.Bool
			fault(c, &over)
			k := &kept{}
			read(t, k, c.ListenAddrs(), "t")
			eventually(t, "it reads", func() bool { return k.count() >= 100 })
			over.Store(true)
			produce(t, c.ListenAddrs(), "t", 100, 200)
			eventually(t, "all is committed", func() bool { return committed(c, "t") == 200 })
			checkAll(t, k, 200, true)
		})
	}
}

// TestRetentionWasFaster: what was deleted before it was read is logged and counted, and reading
// goes on with what is there.
func TestRetentionWasFaster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "t"))
	produce(t, c.ListenAddrs(), "t", 0, 10)
	k := &kept{}
	r := read(t, k, c.ListenAddrs(), "t")
	eventually(t, "some are committed", func() bool { return committed(c, "t") == 10 })
	r.stop()
	produce(t, c.ListenAddrs(), "t", 10, 30)
	if err := c.DeleteRecords("t", 0, 25); err != nil {
		t.Fatal(err)
	}
	r = read(t, k, c.ListenAddrs(), "t")
	eventually(t, "the rest is committed", func() bool { return committed(c, "t") == 30 })
	if n := r.Missed.Load(); n != 15 || !strings.Contains(r.log.String(), "records=15") {
		t.Errorf("%d are missed, and the log is\n%s", n, r.log)
	}
	if k.count() != 15 {
		t.Errorf("%d were written", k.count())
	}
}

// TestTopicsComeAndGo: a topic may come later, be deleted, and come again.
func TestTopicsComeAndGo(t *testing.T) {
	t.Parallel()
	for name, topics := range map[string][]string{
		"name": {"t"}, "pattern": {"^t$", "^other\\.topic"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			k := &kept{}
			read(t, k, c.ListenAddrs(), topics...)
			for round := range 3 {
				if err := c.CreateTopic("t", 1, nil); err != nil {
					t.Fatal(err)
				}
				produce(t, c.ListenAddrs(), "t", 100*round, 100*round+100)
				eventually(t, "all is written", func() bool { return k.count() >= 100*round+100 })
				if err := c.DeleteTopic("t"); err != nil {
					t.Fatal(err)
				}
			}
			checkAll(t, k, 300, true)
		})
	}
}

// TestOutOfReach: it is logged once when a broker is out of reach, and once when it answers.
func TestOutOfReach(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	k := &kept{}
	r := read(t, k, []string{address}, "t")
	eventually(t, "it tries again", func() bool { return r.Failures.Count.Load() > 1 })
	port := l.Addr().(*net.TCPAddr).Port
	c := newCluster(t, kfake.Ports(port), kfake.SeedTopics(1, "t"))
	produce(t, c.ListenAddrs(), "t", 0, 10)
	eventually(t, "all is written", func() bool { return k.count() == 10 })
	fails := strings.Count(r.log.String(), "it fails")
	again := strings.Count(r.log.String(), "works again")
	if fails != 1 || again != 1 {
		t.Errorf("the log is\n%s", r.log)
	}
}

// TestTimes: a message has the same time at each delivery, and two of a millisecond different ones.
func TestTimes(t *testing.T) {
	at := func(ms, offset int64) andon.Time {
		return timeOf(&kgo.Record{Timestamp: time.UnixMilli(ms), Offset: offset})
	}
	if got := at(1_700_000_000_123, 4_567); got != 1_700_000_000_123_567 {
		t.Errorf("the time is %d", got)
	}
	for _, ms := range []int64{-1, 0, -86_400_000_000} {
		if got := at(ms, 1000); got <= 0 || got >= andon.MinTime {
			t.Errorf("without a timestamp (%d) the time is %d", ms, got)
		}
	}
}
