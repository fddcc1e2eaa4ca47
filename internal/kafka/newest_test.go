package kafka

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// readNewest runs a consumer of topics, t unless named, that begins with what comes from now on.
func readNewest(t *testing.T, k *kept, c *kfake.Cluster, topics ...string) *reading {
	t.Helper()
	var s Source
	s.ConfigGroup()
	s.Name, s.Brokers, s.Start = "test", c.ListenAddrs(), newest
	if s.Topics = topics; topics == nil {
		s.Topics = []string{"t"}
	}
	return s.read(t, k)
}

// writerOf returns what writes a value to a partition of the topic t.
func writerOf(t *testing.T, c *kfake.Cluster) func(partition int32, value string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...),
		kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return func(partition int32, value string) {
		t.Helper()
		r := &kgo.Record{Partition: partition, Value: []byte(value)}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkValues: these values were written, by whatever partition, each once.
func checkValues(t *testing.T, k *kept, want ...string) {
	t.Helper()
	var got []string
	for _, values := range k.values() {
		got = append(got, values...)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%q was written, want %q", got, want)
	}
}

// commits returns how many partitions of the topic t the group has offsets of.
func commits(c *kfake.Cluster) int {
	if g := c.GroupInfo("andon"); g != nil {
		return len(g.Commits["t"])
	}
	return 0
}

// TestNewestWhileWritten: what is written while the consumer asks where to begin is read.
func TestNewestWhileWritten(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "t"))
	write := writerOf(t, c)
	write(0, "before")
	<-time.After(5 * time.Millisecond) // timestamps are milliseconds
	byTime, wrote := make(chan struct{}), false
	c.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		switch at := r.(*kmsg.ListOffsetsRequest).Topics[0].Partitions[0].Timestamp; {
		case at >= 0 && !wrote:
			close(byTime)
		case at == -1 && !wrote:
			c.SleepControl(func() {
				select { // lets a listing by time find nothing, where one is under way
				case <-byTime:
					<-time.After(50 * time.Millisecond)
				case <-time.After(250 * time.Millisecond):
				}
				wrote = true
				write(0, "between")
			})
		}
		return nil, nil, false
	})
	k := &kept{}
	readNewest(t, k, c)
	eventually(t, "it is in the group", func() bool { return commits(c) == 1 })
	write(0, "later")
	eventually(t, "all is read", func() bool { return k.count() >= 2 })
	checkValues(t, k, "between", "later")
}

// TestNewestAfterRestart: a partition of which nothing was read yet, and one that is added while
// nobody reads, lose nothing.
func TestNewestAfterRestart(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "t"))
	writerOf(t, c)(1, "before")
	<-time.After(5 * time.Millisecond)
	k := &kept{}
	r := readNewest(t, k, c)
	eventually(t, "it knows where each begins", func() bool { return commits(c) == 2 })
	r.stop()
	more := kmsg.NewPtrCreatePartitionsRequest()
	more.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "t", Count: 3}}
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Request(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	write := writerOf(t, c)
	for i, value := range []string{"a", "b", "c"} {
		write(int32(i), value)
	}
	<-time.After(5 * time.Millisecond)
	readNewest(t, k, c)
	eventually(t, "all is read", func() bool { return k.count() >= 3 })
	checkValues(t, k, "a", "b", "c")
}

// TestNewestOfMembers: the members of a group that is new begin at one place.
func TestNewestOfMembers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(8, "t"))
	write := writerOf(t, c)
	for p := range int32(8) {
		write(p, "before")
	}
	<-time.After(5 * time.Millisecond)
	k := &kept{}
	for range 3 {
		readNewest(t, k, c)
	}
	if _, err := c.WaitGroupStable(t.Context(), "andon", 3); err != nil {
		t.Fatal(err)
	}
	eventually(t, "they know where each begins", func() bool { return commits(c) == 8 })
	want := []string{"0", "1", "2", "3", "4", "5", "6", "7"}
	for p, value := range want {
		write(int32(p), value)
	}
	eventually(t, "all is read", func() bool { return k.count() >= 8 })
	checkValues(t, k, want...)
}

// TestNewestOfTopicsAdded: a topic that is made while nobody reads loses nothing, and of one that
// was there before, what was written before the group began is left out.
func TestNewestOfTopicsAdded(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "t", "old"))
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	write := func(topic, value string) {
		t.Helper()
		r := &kgo.Record{Topic: topic, Value: []byte(value)}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	write("old", "before")
	<-time.After(5 * time.Millisecond)
	k := &kept{}
	r := readNewest(t, k, c)
	write("t", "a")
	eventually(t, "it reads", func() bool { return k.count() == 1 })
	eventually(t, "it has committed that", func() bool {
		return c.GroupInfo("andon").Commits["t"][0].Offset == 1
	})
	r.stop()
	more := kmsg.NewPtrCreateTopicsRequest()
	added := kmsg.NewCreateTopicsRequestTopic()
	added.Topic, added.NumPartitions, added.ReplicationFactor = "new", 1, 1
	more.Topics = append(more.Topics, added)
	if _, err := client.Request(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	write("new", "b")
	write("old", "c")
	<-time.After(5 * time.Millisecond)
	readNewest(t, k, c, "t", "new", "old")
	write("t", "d")
	eventually(t, "all is read", func() bool { return k.count() >= 4 })
	checkValues(t, k, "a", "b", "c", "d")
}
