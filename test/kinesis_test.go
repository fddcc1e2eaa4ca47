package test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
)

// kinesisStream is a stream of kinesalite, with what was put into it: of each device the entries 0,
// 1, 2, …
type kinesisStream struct {
	t      testing.TB
	engine *enginetest.Service
	sdk    *kinesis.Client

	sent [devicesInStream]atomic.Int64
}

const (
	devicesInStream = 20
	entriesInRecord = 25 // at most
	streamName      = "fleet"
)

func newKinesis(t testing.TB, dir string, shards int32) *kinesisStream {
	t.Helper()
	s := &kinesisStream{t: t, engine: enginetest.OwnKinesis(t, dir)}
	t.Log("engine: " + s.engine.About)
	s.sdk = kinesis.New(kinesis.Options{
		Region: "us-east-1", BaseEndpoint: &s.engine.URL,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})
	_, err := s.sdk.CreateStream(t.Context(), &kinesis.CreateStreamInput{
		StreamName: aws.String(streamName), ShardCount: &shards,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.active(shards)
	return s
}

// active waits until the stream has so many open shards, and returns them.
func (s *kinesisStream) active(open int32) (shards []types.Shard) {
	s.t.Helper()
	for range 200 {
		out, err := s.sdk.DescribeStream(s.t.Context(),
			&kinesis.DescribeStreamInput{StreamName: aws.String(streamName)})
		if err != nil {
			s.t.Fatal(err)
		}
		shards = nil
		for _, one := range out.StreamDescription.Shards {
			if one.SequenceNumberRange.EndingSequenceNumber == nil {
				shards = append(shards, one)
			}
		}
		is := out.StreamDescription.StreamStatus
		if is == types.StreamStatusActive && len(shards) == int(open) {
			return shards
		}
		<-time.After(10 * time.Millisecond)
	}
	s.t.Fatalf("the stream does not get %d shards", open)
	return nil
}

// settings writes the settings of a server that reads the stream, after other ones.
func (s *kinesisStream) settings(more string) (path string) {
	s.t.Helper()
	dir := s.t.TempDir()
	mapping := filepath.Join(dir, "mapping.yaml")
	path = filepath.Join(dir, "andon.yaml")
	err := errors.Join(
		os.WriteFile(mapping, []byte("each: $.log\ndevice: plant/{key}\ntime: $.at\n"+
			"state: $.condition\n"+
			"states: {names: {fine: NORMAL, warm: WARNING1, hot: WARNING2}}\n"+
			"operator: $.who\nmessage: $.text\n"), 0o600),
		os.WriteFile(path, fmt.Appendf(nil, "%s\nkinesis.sources:\n- {name: fleet, stream: %s, "+
			"endpoint: %s, mapping: %s}\n", more, streamName, s.engine.URL, mapping), 0o600))
	if err != nil {
		s.t.Fatal(err)
	}
	return path
}

// read starts a server that reads the stream.
func (s *kinesisStream) read(path string, flags ...string) *server {
	s.t.Helper()
	cmd := command(s.t, serving(append([]string{"--config", path, "--log-audit", "off",
		"--log-level", "error"}, flags...)...)...)
	cmd.Env = append(cmd.Env, "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b")
	return startProgram(s.t, cmd)
}

// writerOf is the writer whose entries are those of a device.
func (s *kinesisStream) writerOf(device int) *writer {
	sent := int(s.sent[device].Load())
	return &writer{
		device: andon.DeviceID(fmt.Sprintf("plant/%d", device)), sent: sent, acknowledged: sent,
	}
}

// put puts the next n entries of each device into the stream, some in a record, and again where
// that fails.
func (s *kinesisStream) put(n int) {
	s.t.Helper()
	var records []types.PutRecordsRequestEntry
	foreign := map[andon.State]string{"NORMAL": "fine", "WARNING1": "warm", "WARNING2": "hot"}
	for from := 0; from < n; from += entriesInRecord {
		for device := range devicesInStream {
			var log []string
			for i := from; i < min(from+entriesInRecord, n); i++ {
				e := s.writerOf(device).event(int(s.sent[device].Load()) + i)
				log = append(log, fmt.Sprintf(`{"at":%q,"condition":%q,"who":%q,"text":%q}`,
					e.Time, foreign[e.State], e.Operator, e.Message))
			}
			records = append(records, types.PutRecordsRequestEntry{
				PartitionKey: aws.String(fmt.Sprint(device)),
				Data:         []byte(`{"log":[` + strings.Join(log, ",") + `]}`),
			})
		}
	}
	for len(records) > 0 {
		some := records[:min(500, len(records))]
		for s.t.Context().Err() == nil {
			out, err := s.sdk.PutRecords(s.t.Context(), &kinesis.PutRecordsInput{
				StreamName: aws.String(streamName), Records: some,
			})
			if err == nil && *out.FailedRecordCount == 0 {
				break
			}
			<-time.After(50 * time.Millisecond)
		}
		records = records[len(some):]
	}
	for device := range devicesInStream {
		s.sent[device].Add(int64(n))
	}
}

// complete waits until a server has all that was sent, compares it, and returns how long it waited.
func (s *kinesisStream) complete(t *testing.T, c *client.Client) time.Duration {
	t.Helper()
	began := time.Now()
	s.arrives(t, c)
	waited := time.Since(began)
	for device := range devicesInStream {
		s.writerOf(device).check(t, c)
	}
	return waited
}

// TestSerialKinesisReshard: a server reads a stream while its shards are split and merged, and
// while it is killed again and again. It has each entry once, and current states as they were sent.
func TestSerialKinesisReshard(t *testing.T) {
	t.Parallel()
	s := newKinesis(t, "", 2)
	path, data := s.settings(""), t.TempDir()
	flags := []string{"--store", "pebble", "--data", data}
	server := s.read(path, flags...)
	s.put(50)
	s.complete(t, newClient(t, server))
	s.split(s.active(2)[0])
	s.put(50)
	server.end(syscall.SIGKILL, -1)
	server = s.read(path, flags...)
	shards := s.active(3)
	s.put(50)
	s.merge(shards)
	s.put(50)
	server.end(syscall.SIGKILL, -1)
	server = s.read(path, flags...)
	s.put(50)
	s.complete(t, newClient(t, server))
	said := server.send(t, "GET", "/metrics", "", "")
	for _, want := range []string{
		`andon_kinesis_behind_seconds{source="fleet"} 0`,
		`andon_kinesis_failures_total{source="fleet"} 0`,
		`andon_source_rejected_total{source="fleet"} 0`,
	} {
		if !strings.Contains(said, want+"\n") {
			t.Errorf("/metrics does not have %s", want)
		}
	}
}

// TestKinesisKills kills Andon, kinesalite and both, again and again: one process on Pebble, while
// up to 10,000 entries a second are put into the stream, and two on DynamoDB, with 1,000, because
// of dynalite. Nothing is lost, nothing is doubled.
func TestKinesisKills(t *testing.T) {
	if os.Getenv(enginetest.LongTests) == "" {
		t.Skipf("it takes minutes: %s=1 runs it", enginetest.LongTests)
	}
	for processes, rate := range map[int]int{1: 10_000, 2: 1_000} {
		t.Run(fmt.Sprint(processes, " processes"), func(t *testing.T) {
			s := newKinesis(t, t.TempDir(), 4)
			path, flags := s.settings(""), []string{"--store", "pebble", "--data", t.TempDir()}
			if processes > 1 {
				store, err := os.ReadFile(dynamoSettings(t))
				if err != nil {
					t.Fatal(err)
				}
				path, flags = s.settings(string(store)), nil
			}
			s.killing(t, processes, rate, path, flags)
		})
	}
}

func (s *kinesisStream) killing(t *testing.T, processes, rate int, path string, flags []string) {
	t.Helper()
	var servers []*server
	for range processes {
		servers = append(servers, s.read(path, flags...))
	}
	ticks := time.NewTicker(time.Second / 20)
	defer ticks.Stop()
	ctx, stop := context.WithCancel(t.Context())
	var putting sync.WaitGroup
	putting.Go(func() {
		for ctx.Err() == nil {
			<-ticks.C
			s.put(rate / 20 / devicesInStream)
		}
	})
	began := time.Now()
	for round := range 12 {
		<-time.After(time.Duration(2+round%5) * time.Second)
		victim := round % processes
		if round%3 != 1 {
			servers[victim].end(syscall.SIGKILL, -1)
		}
		if round%3 != 0 {
			s.engine.Kill()
			<-time.After(time.Second)
			if err := s.engine.Start(); err != nil {
				t.Fatal(err)
			}
		}
		if round%3 != 1 {
			servers[victim] = s.read(path, flags...)
		}
	}
	stop()
	putting.Wait()
	took := time.Since(began)
	later := s.complete(t, newClient(t, servers[0]))
	all := s.sent[0].Load() * devicesInStream
	t.Logf("%d entries were put in %s, %.0f/s; all were there %s later", all,
		took.Round(time.Second), float64(all)/took.Seconds(), later.Round(time.Second/10))
}

// split splits a shard in its middle.
func (s *kinesisStream) split(one types.Shard) {
	s.t.Helper()
	_, err := s.sdk.SplitShard(s.t.Context(), &kinesis.SplitShardInput{
		StreamName: aws.String(streamName), ShardToSplit: one.ShardId,
		NewStartingHashKey: aws.String("85070591730234615865843651857942052864"),
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// merge merges two of the shards that are next to each other.
func (s *kinesisStream) merge(shards []types.Shard) {
	s.t.Helper()
	var err error
	for i := range shards {
		for j := range shards {
			_, err = s.sdk.MergeShards(s.t.Context(), &kinesis.MergeShardsInput{
				StreamName: aws.String(streamName), ShardToMerge: shards[i].ShardId,
				AdjacentShardToMerge: shards[j].ShardId,
			})
			if err == nil {
				return
			}
		}
	}
	s.t.Fatal(err)
}

// TestSerialKinesisTwoProcesses: two servers on one store share the shards; one is killed, and the
// other one goes on with its shards.
func TestSerialKinesisTwoProcesses(t *testing.T) {
	t.Parallel()
	s := newKinesis(t, "", 4)
	one, two, stop := s.both(t)
	two.end(syscall.SIGKILL, -1)
	stop()
	later := s.complete(t, newClient(t, one))
	t.Logf("the other one had all %s after the kill", later.Round(time.Second/10))
}

// TestKinesisPaused: a server that is paused for longer than a lease lasts does no harm when it
// goes on.
func TestKinesisPaused(t *testing.T) {
	if os.Getenv(enginetest.LongTests) == "" {
		t.Skipf("it takes a minute: %s=1 runs it", enginetest.LongTests)
	}
	s := newKinesis(t, "", 4)
	one, two, stop := s.both(t)
	for range 2 {
		if err := two.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		<-time.After(20 * time.Second)
		s.arrives(t, newClient(t, one)) // the other one has its shards
		if err := two.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Second)
	}
	stop()
	s.complete(t, newClient(t, one))
}

// arrives waits until a server has what was sent so far.
func (s *kinesisStream) arrives(t *testing.T, c *client.Client) {
	t.Helper()
	for device := range devicesInStream {
		w := s.writerOf(device)
		last := w.event(w.sent - 1)
		eventually(t, patience, "all is read", func() error {
			d, err := c.Device(t.Context(), w.device)
			if err == nil && d.Time < last.Time {
				err = fmt.Errorf("%s is at %s, not %s", w.device, d.Time, last.Time)
			}
			return err
		})
	}
}

// both starts two servers on one store, puts entries until stop is called, and returns once both
// have read some.
func (s *kinesisStream) both(t *testing.T) (one, two *server, stop func()) {
	t.Helper()
	store, err := os.ReadFile(dynamoSettings(t))
	if err != nil {
		t.Fatal(err)
	}
	path := s.settings(string(store))
	one, two = s.read(path), s.read(path)
	ctx, cancel := context.WithCancel(t.Context())
	var putting sync.WaitGroup
	putting.Go(func() {
		for ctx.Err() == nil {
			s.put(1)
			<-time.After(50 * time.Millisecond)
		}
	})
	for _, server := range []*server{one, two} {
		eventually(t, patience, "both read", func() error {
			said := server.send(t, "GET", "/metrics", "", "")
			const read = `andon_source_messages_total{source="fleet"}`
			if strings.Contains(said, read+" 0\n") || !strings.Contains(said, read) {
				return errors.New("one has read nothing")
			}
			return nil
		})
	}
	return one, two, func() { cancel(); putting.Wait() }
}
