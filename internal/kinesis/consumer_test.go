package kinesis

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/store/memstore"
)

// run runs a consumer in the background; what is returned stops it.
func run(t *testing.T, c *Consumer) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
		close(ended)
	}()
	return func() { cancel(); <-ended }
}

// TestFaults: the service throttles, expires iterators and fails, the Writer and the store fail,
// and processes end. Each record is kept, in order; read again it is the same message.
func TestFaults(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := &dice{rand: rand.New(rand.NewPCG(seed, 1))}
			s, k, records := newStream(3), keeper(t), &unsure{Store: memstore.New()}
			faults := []error{nil, nil, nil, errAway, &types.ExpiredIteratorException{},
				&types.ProvisionedThroughputExceededException{}, &types.InternalFailureException{}}
			s.fault = func(int) error { return faults[random.IntN(len(faults))] }
			refusals := []error{nil, nil, nil, errAway}
			k.refuse = func(int) error { return refusals[random.IntN(len(refusals))] }
			for range 10 {
				for _, one := range s.shards {
					s.put(one, random.IntN(9))
				}
				stop := run(t, reader(s, k, records, "p"))
				records.fails.Store(random.IntN(3) == 0)
				time.Sleep(time.Duration(random.IntN(20_000)) * time.Millisecond)
				stop()
			}
			s.fault, k.refuse = nil, nil
			records.fails.Store(false)
			stop := run(t, reader(s, k, records, "p"))
			time.Sleep(time.Minute)
			stop()
			k.check(s)
		})
	}
}

// dice may be thrown concurrently.
type dice struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func (d *dice) IntN(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rand.IntN(n)
}

// TestReadAgain: what was written and whose position was not saved is read again, as the same
// messages.
func TestReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, records := newStream(1), keeper(t), &unsure{Store: memstore.New()}
		s.put(s.shards[0], 10)
		c := reader(s, k, records, "first")
		k.refuse = func(n int) error {
			records.fails.Store(n == 2) // the save after the second write
			return nil
		}
		stop := run(t, c)
		time.Sleep(10 * time.Second)
		records.fails.Store(false)
		time.Sleep(10 * time.Second)
		stop()
		k.check(s)
		if k.again == 0 || c.Failures.Count.Load() == 0 {
			t.Errorf("%d were read again, %d failures", k.again, c.Failures.Count.Load())
		}
	})
}

// TestMadeAgain: a stream that is deleted and made again with the same name is read from its start,
// while a process reads it and while none does; also its shards that had been read to their end.
func TestMadeAgain(t *testing.T) {
	for _, stops := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, k, records := newStream(2), keeper(t), memstore.New()
			stop := run(t, reader(s, k, records, "a"))
			s.put(s.shards[0], 20)
			s.put(s.shards[1], 20)
			s.mu.Lock()
			s.putLocked(s.add(s.shards[0]), 5)
			s.mu.Unlock()
			time.Sleep(time.Minute)
			k.check(s)
			if stops {
				stop()
			}
			s.mu.Lock()
			k.mu.Lock()
			s.base, s.shards = s.base+1000, nil
			k.order, k.first = nil, map[string]mapping.Message{}
			for range 2 {
				s.putLocked(s.add(), 7)
			}
			k.mu.Unlock()
			s.mu.Unlock()
			if stops {
				stop = run(t, reader(s, k, records, "b"))
			}
			time.Sleep(time.Minute)
			stop()
			k.check(s)
		})
	}
}

// TestReshard: splits and merges while a stream is read, by one process and by several that come
// and go. A child is read after all that its parents have.
func TestReshard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, records := newStream(2), keeper(t), memstore.New()
		stop := []func(){run(t, reader(s, k, records, "a")), run(t, reader(s, k, records, "b"))}
		grow := func(parents ...*shard) *shard {
			for _, p := range parents {
				s.put(p, 40)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.add(parents...)
		}
		s2 := grow(s.shards[0])
		s3 := grow(s.shards[0])
		s.put(s2, 20)
		s4 := grow(s3, s.shards[1])
		time.Sleep(5 * time.Second)
		stop[0]()
		s.put(s4, 20)
		stop[0] = run(t, reader(s, k, records, "c"))
		time.Sleep(time.Minute)
		for _, stop := range stop {
			stop()
		}
		k.check(s)
		for _, child := range s.shards {
			for _, parent := range []*string{child.ParentShardId, child.AdjacentParentShardId} {
				if parent != nil && last(k, *parent) > first(k, *child.ShardId) {
					t.Errorf("%s was read before the end of %s", *child.ShardId, *parent)
				}
			}
		}
	})
}

func first(k *kept, shard string) int {
	return slices.Index(k.order, shard+"/0")
}

func last(k *kept, shard string) (at int) {
	for i, value := range k.order {
		if strings.HasPrefix(value, shard+"/") {
			at = i
		}
	}
	return at
}

// TestKilled: another process goes on within the time of a lease where one was killed, and reads
// again what that one did not save.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k := newStream(4), keeper(t)
		records := &unsure{Store: memstore.New()}
		for _, one := range s.shards {
			s.put(one, 50)
		}
		stop := run(t, reader(s, k, records, "killed"))
		stopOther := run(t, reader(s, k, records.Store, "other"))
		time.Sleep(4500 * time.Millisecond)
		records.fails.Store(true) // nothing reaches the store from now on
		stop()
		for _, one := range s.shards {
			s.put(one, 50)
		}
		time.Sleep(12*time.Second + 34*eachRead)
		stopOther()
		k.check(s)
	})
}

// TestStart: newest is what was sent after the source was first read, whatever happens then.
func TestStart(t *testing.T) {
	for start, want := range map[string]int{oldest: 30, newest: 20, "2000-01-01T01:00:00Z": 10} {
		synctest.Test(t, func(t *testing.T) {
			s, k, records := newStream(1), keeper(t), memstore.New()
			s.put(s.shards[0], 10)
			time.Sleep(time.Minute)
			for range 2 { // it ends before it reads anything
				c := reader(s, k, records, "p")
				s.fault = func(int) error { return errAway }
				c.Source.Start = start
				stop := run(t, c)
				time.Sleep(time.Second)
				stop()
				s.put(s.shards[0], 5)
			}
			s.fault = nil
			time.Sleep(time.Hour)
			s.put(s.shards[0], 10)
			c := reader(s, k, records, "p")
			c.Source.Start = start
			stop := run(t, c)
			time.Sleep(time.Minute)
			stop()
			if len(k.order) != want {
				t.Errorf("from %s it read %d records, want %d", start, len(k.order), want)
			}
		})
	}
}

// TestGone: a closed shard whose records are gone is read to its end, its children are read, and
// the lease of one that is not listed any more is deleted.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, records := newStream(1), keeper(t), memstore.New()
		child := s.add(s.shards[0])
		s.put(child, 5)
		stop := run(t, reader(s, k, records, "p"))
		time.Sleep(10 * time.Second)
		k.check(s)
		r, err := records.Record(t.Context(), "", lease.Kind, "kinesis/n/s/shard-0")
		if err != nil || string(r.Data) != `{"position":{"first":"0","after":"SHARD_END"}}` {
			t.Errorf("%s, %v", r.Data, err)
		}
		s.mu.Lock()
		s.shards = s.shards[1:]
		s.mu.Unlock()
		time.Sleep(10 * time.Second)
		_, err = records.Record(t.Context(), "", lease.Kind, "kinesis/n/s/shard-0")
		if andon.KindOf(err) != andon.NotFound {
			t.Errorf("its lease: %v", err)
		}
		stop()
	})
}

// TestPace: at most five calls a second while it is behind, and one at the tip.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k := newStream(1), keeper(t)
		s.put(s.shards[0], 30)
		c := reader(s, k, memstore.New(), "p")
		stop := run(t, c)
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if n := s.called(); n != 6 || c.Behind() != 12*time.Second {
			t.Errorf("%d calls, and it is %s behind", n, c.Behind())
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := s.called(); n < 27 || n > 30 || c.Behind() != 0 {
			t.Errorf("%d calls, and it is %s behind", n, c.Behind())
		}
		stop()
		k.check(s)
	})
}

// TestLogsOnce: what fails for long is logged when it begins and when it ends.
func TestLogsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k := newStream(2), keeper(t)
		s.put(s.shards[0], 1)
		s.fault = func(call int) error {
			if call < 20 {
				return errAway
			}
			return nil
		}
		c, said := reader(s, k, memstore.New(), "p"), &bytes.Buffer{}
		c.Log = slog.New(slog.NewTextHandler(said, nil))
		stop := run(t, c)
		time.Sleep(time.Minute)
		stop()
		k.check(s)
		if n := strings.Count(said.String(), "\n"); n != 2 || c.Failures.Count.Load() != 19 ||
			!strings.Contains(said.String(), "no answer") {
			t.Errorf("after %d failures it has logged\n%s", c.Failures.Count.Load(), said)
		}
	})
}

// TestBehindWhileAway: what can't be read is behind by how long that has lasted, from the start and
// later.
func TestBehindWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k := newStream(2), keeper(t)
		s.put(s.shards[0], 1)
		var away atomic.Bool
		s.fault = func(int) error {
			if away.Load() {
				return errAway
			}
			return nil
		}
		away.Store(true)
		c := reader(s, k, memstore.New(), "p")
		stop := run(t, c)
		for range 2 {
			time.Sleep(70 * time.Second)
			if late := c.Behind(); late < time.Minute {
				t.Errorf("it has not read for 70 s, and is %s behind", late)
			}
			away.Store(false)
			time.Sleep(20 * time.Second)
			if late := c.Behind(); late != 0 {
				t.Errorf("it reads again, and is %s behind", late)
			}
			away.Store(true)
		}
		stop()
		k.check(s)
	})
}

// unsure is a store to which nothing can be written for a while.
type unsure struct {
	andon.Store
	fails atomic.Bool
}

func (u *unsure) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if u.fails.Load() {
		return r, andon.Errorf(andon.Unavailable, "no store")
	}
	return u.Store.PutRecord(ctx, r)
}
