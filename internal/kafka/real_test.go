package kafka

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/sink"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// ask sends a request to a broker.
func ask(t *testing.T, b *enginetest.Broker, r kmsg.Request) {
	t.Helper()
	client := newProducer(t, b, "")
	if _, err := client.Request(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// newTopic makes a topic of the test's, with two partitions.
func newTopic(t *testing.T, b *enginetest.Broker, settings map[string]string) string {
	t.Helper()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = t.Name(), 2, 1
	for name, value := range settings {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = name, &value
		topic.Configs = append(topic.Configs, config)
	}
	r := kmsg.NewPtrCreateTopicsRequest()
	r.Topics = append(r.Topics, topic)
	ask(t, b, r)
	return topic.Topic
}

// newProducer is a client that writes to a topic.
func newProducer(t *testing.T, b *enginetest.Broker, topic string, o ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(o,
		kgo.SeedBrokers(b.Addr), kgo.DefaultProduceTopic(topic))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// TestSerialRecordsOfKafka: batches under each compression, a megabyte, headers, tombstones,
// transactions that are committed and ones that are not, times of the broker.
func TestSerialRecordsOfKafka(t *testing.T) {
	b := enginetest.Kafka(t)
	topic := newTopic(t, b, map[string]string{
		"max.message.bytes": "2000000", "message.timestamp.type": "LogAppendTime",
	})
	from, want := time.Now().Add(-time.Second), 0
	send := func(p *kgo.Client, records ...*kgo.Record) {
		t.Helper()
		if err := p.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		want += len(records)
	}
	for _, codec := range []kgo.CompressionCodec{
		kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(),
		kgo.ZstdCompression(), kgo.NoCompression(),
	} {
		p := newProducer(t, b, topic, kgo.ProducerBatchCompression(codec),
			kgo.ProducerBatchMaxBytes(2_000_000))
		send(p, kgo.KeyStringRecord("k", "first"), kgo.KeyStringRecord("k", "second"))
	}
	p := newProducer(t, b, topic, kgo.ProducerBatchMaxBytes(2_000_000),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	send(p, kgo.StringRecord(strings.Repeat("x", 1<<20)))
	send(p, &kgo.Record{
		Key: []byte("h"), Value: []byte{},
		Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("b")}},
	})
	send(p, &kgo.Record{Key: []byte("gone")})
	want-- // it has no value
	tx := newProducer(t, b, topic, kgo.TransactionalID(topic))
	for _, how := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit} {
		if err := tx.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		send(tx, kgo.StringRecord(fmt.Sprint("transaction ", how)))
		if err := tx.EndTransaction(t.Context(), how); err != nil {
			t.Fatal(err)
		}
	}
	want-- // one was aborted
	k := &kept{}
	read(t, k, []string{b.Addr}, topic)
	eventually(t, "all is written", func() bool { return k.count() == want })
	times := map[andon.Time]bool{}
	for _, m := range k.messages {
		large := len(m.Value) == 1<<20
		if string(m.Value) == fmt.Sprint("transaction ", kgo.TryAbort) {
			t.Error("what was aborted is written")
		}
		if m.Key == "h" && (m.Headers["a"] != "b" || m.Topic != topic) {
			t.Errorf("the headers are %v, the topic is %s", m.Headers, m.Topic)
		}
		if m.Time < andon.TimeOf(from) || times[m.Time] && m.Key == "k" {
			t.Errorf("%s has the time %s (large: %t)", m.Place, m.Time, large)
		}
		times[m.Time] = true
	}
}

// TestSerialSecureKafka: both sides show certificates, and the client logs in. What is wrong is
// logged, and nothing of the password with it.
func TestSerialSecureKafka(t *testing.T) {
	b := enginetest.Kafka(t)
	topic := newTopic(t, b, nil)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte(enginetest.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const user = "scrambled"
	scrambled(t, b, user, 1, sha256.New)
	scrambled(t, b, user, 2, sha512.New)
	for mechanism, user := range map[string]string{
		saslPlain: enginetest.User, saslSHA256: user, saslSHA512: user,
	} {
		c := Connection{
			Brokers: []string{b.Secure}, TLS: true, CA: b.Certificate, Cert: b.Certificate,
			Key: b.Key, SASL: mechanism, User: user, Password: password,
		}
		p, err := (&Target{c, topic}).Open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		message := sink.Message{Key: "k", Value: []byte(mechanism)}
		if err := p.Deliver(t.Context(), batchOf(message)); err != nil {
			t.Errorf("%s: %v", mechanism, err)
		}
		var s Source
		s.ConfigGroup()
		s.Connection, s.Name, s.Topics, s.Group = c, "test", []string{topic}, topic+mechanism
		k := &kept{}
		r := s.read(t, k)
		eventually(t, "it reads by "+mechanism, func() bool { return k.count() > 0 })
		if r.Failures.Count.Load() > 0 {
			t.Errorf("%s: %s", mechanism, r.log)
		}
		for what, wrong := range map[string]func(s *Source){
			"password":    func(s *Source) { s.User = "nobody" },
			"certificate": func(s *Source) { s.Cert, s.Key = "", "" },
			"authority":   func(s *Source) { s.CA = "" },
			"tls":         func(s *Source) { s.TLS = false },
		} {
			s := s
			if wrong(&s); mechanism != saslPlain && what != "password" {
				continue
			}
			r := s.read(t, k)
			eventually(t, "it fails by "+what, func() bool { return r.Failures.Count.Load() > 0 })
			said := r.log.String()
			if strings.Contains(said, enginetest.Password) && s.User != enginetest.User {
				t.Errorf("the log has the password: %s", said)
			}
			t.Logf("%s, %s: %s", mechanism, what, said)
			r.stop()
		}
	}
}

// scrambled makes a user who may log in by a mechanism of SCRAM.
func scrambled[H hash.Hash](
	t *testing.T, b *enginetest.Broker, user string, mechanism int8, of func() H,
) {
	t.Helper()
	const turns = 4096
	salt := []byte("salt")
	salted, err := pbkdf2.Key(of, enginetest.Password, salt, turns, of().Size())
	if err != nil {
		t.Fatal(err)
	}
	r := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	r.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{
		Name: user, Mechanism: mechanism, Iterations: turns, Salt: salt, SaltedPassword: salted,
	}}
	ask(t, b, r)
}

// TestSerialNewestOfKafka: a group that begins with what comes from now on leaves out what is
// there, and has all of a partition that is added later.
func TestSerialNewestOfKafka(t *testing.T) {
	b := enginetest.Kafka(t)
	topic := newTopic(t, b, nil)
	p := newProducer(t, b, topic, kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(100*time.Millisecond))
	send := func(partition int32, value string) {
		t.Helper()
		r := &kgo.Record{Partition: partition, Value: []byte(value)}
		if err := p.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	send(0, "before")
	<-time.After(5 * time.Millisecond) // timestamps are milliseconds
	var s Source
	s.ConfigGroup()
	s.Name, s.Brokers, s.Topics, s.Start = "test", []string{b.Addr}, []string{topic}, newest
	s.Group = topic
	k := &kept{}
	s.read(t, k)
	send(1, "after")
	eventually(t, "it reads", func() bool { return k.count() == 1 })
	more := kmsg.NewPtrCreatePartitionsRequest()
	more.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: topic, Count: 3}}
	ask(t, b, more)
	for i := range 5 {
		p.ForceMetadataRefresh()
		r := &kgo.Record{Partition: 2, Value: fmt.Append(nil, i)}
		for p.ProduceSync(t.Context(), r).FirstErr() != nil {
			<-time.After(50 * time.Millisecond)
		}
	}
	eventually(t, "it reads the new partition", func() bool {
		return len(k.values()[topic+"/2"]) >= 5
	})
}

// TestSerialRetentionOfKafka: the broker itself deletes what was not read.
func TestSerialRetentionOfKafka(t *testing.T) {
	b := enginetest.Kafka(t)
	topic := newTopic(t, b, map[string]string{
		"segment.bytes": "1048576", "retention.bytes": "1048576",
	})
	p := newProducer(t, b, topic, kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	send := func(n int) {
		t.Helper()
		for range n {
			r := kgo.StringRecord(strings.Repeat("x", 500_000))
			if err := p.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	k := &kept{}
	send(1)
	r := read(t, k, []string{b.Addr}, topic)
	eventually(t, "it reads", func() bool { return k.count() == 1 })
	<-time.After(100 * time.Millisecond)
	r.stop()
	send(12)
	late := newProducer(t, b, topic, kgo.ConsumeTopics(topic))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	eventually(t, "some are deleted", func() bool {
		late.PurgeTopicsFromConsuming(topic)
		late.AddConsumeTopics(topic)
		first := int64(0)
		late.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			if first == 0 {
				first = r.Offset
			}
		})
		return first > 1
	})
	r = read(t, k, []string{b.Addr}, topic)
	eventually(t, "it goes on", func() bool { return int64(k.count())+r.Missed.Load() == 13 })
	if r.Missed.Load() == 0 {
		t.Errorf("none are missed; the log is %s", r.log)
	}
}
