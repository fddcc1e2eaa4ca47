package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/sink"
)

// Target is a topic that a feed is written to.
type Target struct {
	Connection
	Topic string
}

// Settings are those of a target.
func (t *Target) Settings() []config.Setting {
	return append(t.Connection.Settings(), config.Setting{
		Key: "topic", Value: config.Text(&t.Topic), Help: "topic to write to, which must be there",
	})
}

// Check reports what is wrong with the settings together.
func (t *Target) Check(k *config.Check) {
	if t.Topic == "" {
		k.Wrong("topic", "is missing")
	}
	t.Connection.Check(k)
}

// Producer is the Destination of a feed that goes to a topic. The key of a record is that of the
// message, and what a device that is gone has last is a tombstone, so a compacted topic has what
// the devices show.
type Producer struct{ client *kgo.Client }

// Open makes a producer, which connects when it has something to deliver. Its error is Invalid.
func (t *Target) Open() (*Producer, error) {
	options, err := t.options()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(options, kgo.DefaultProduceTopic(t.Topic),
		kgo.RecordDeliveryTimeout(deliveryTime), kgo.AllowIdempotentProduceCancellation())...)
	return &Producer{client}, err
}

const (
	// deliveryTime is how long the client tries by itself.
	deliveryTime = 30 * time.Second
	// slowly is when what a person has to change is tried again.
	slowly = time.Minute
)

// Deliver returns nil once all replicas that are in sync have the messages.
func (p *Producer) Deliver(ctx context.Context, b *sink.Batch) error {
	records := make([]*kgo.Record, len(b.Messages))
	for i, m := range b.Messages {
		records[i] = &kgo.Record{Key: []byte(m.Key), Value: m.Value}
		if m.Gone {
			records[i].Value = nil
		}
	}
	err := p.client.ProduceSync(ctx, records...).FirstErr()
	for _, lasting := range []error{
		kerr.MessageTooLarge, kerr.TopicAuthorizationFailed, kerr.UnknownTopicOrPartition,
	} {
		if errors.Is(err, lasting) {
			return &sink.Failure{Err: err, After: slowly}
		}
	}
	return err
}

// Close ends the connections.
func (p *Producer) Close() { p.client.Close() }
