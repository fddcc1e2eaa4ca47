package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/andonhq/andon/internal/sink"
)

// deliverTo returns a producer for the topic t.
func deliverTo(t *testing.T, brokers []string) *Producer {
	t.Helper()
	p, err := (&Target{Connection{Brokers: brokers}, "t"}).Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func batchOf(messages ...sink.Message) *sink.Batch { return &sink.Batch{Messages: messages} }

// TestDelivers: the newest record of each key says what the device shows, and of one that is gone
// there is a tombstone. A broker that is not the leader any more is no failure.
func TestDelivers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(3, "t"))
	p := deliverTo(t, c.ListenAddrs())
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotLeaderForPartition})
	var messages []sink.Message
	for i := range 100 {
		messages = append(messages, sink.Message{
			Key: fmt.Sprint("d", i%10), Value: fmt.Append(nil, i), Gone: i == 99,
		})
	}
	if err := p.Deliver(t.Context(), batchOf(messages...)); err != nil {
		t.Fatal(err)
	}
	newest := map[string]string{}
	for _, r := range recordsOf(t, c.ListenAddrs(), 100) {
		newest[string(r.Key)] = string(r.Value)
		if r.Value == nil {
			delete(newest, string(r.Key))
		}
	}
	if len(newest) != 9 || newest["d0"] != "90" || newest["d8"] != "98" {
		t.Errorf("the topic has %v", newest)
	}
}

// recordsOf reads so many records of the topic t.
func recordsOf(t *testing.T, brokers []string, n int) (records []*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(records) < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatal(err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

// TestCantDeliver: what a person has to change is tried again slowly, and what ends by itself when
// the sink sees fit.
func TestCantDeliver(t *testing.T) {
	c := newCluster(t, kfake.SeedTopics(1, "t"))
	large := sink.Message{Key: "d", Value: []byte(strings.Repeat("x", 2<<20))}
	small := sink.Message{Key: "d", Value: []byte("x")}
	p := deliverTo(t, c.ListenAddrs())
	var slow *sink.Failure
	if err := p.Deliver(t.Context(), batchOf(small, large)); !errors.As(err, &slow) {
		t.Errorf("too large: %v", err)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.InvalidRequiredAcks})
	if err := p.Deliver(t.Context(), batchOf(small)); err == nil || errors.As(err, &slow) {
		t.Errorf("refused once: %v", err)
	}
	if err := p.Deliver(t.Context(), batchOf(small)); err != nil {
		t.Error(err)
	}
	c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Deliver(ctx, batchOf(small)); !errors.Is(err, context.Canceled) {
		t.Errorf("the context has ended: %v", err)
	}
}
