package notify_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/wallclock"
)

// storm is a world whose time is that of a bubble, and whose service runs.
type storm struct {
	*world
	*testing.T
	began time.Time
	n     int // notices that were given
}

func clock() andon.Time { return andon.TimeOf(time.Now()) }

// run has the clock of the world run by itself.
func (w *world) run() {
	w.Now = clock
	w.Clock = wallclock.New(clock, func() time.Duration { return clock().Sub(0).Std() },
		andon.ClockMark{}, nil)
}

func inStorm(t *testing.T, test func(*storm)) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		s := &storm{world: newWorld(store), T: t, began: time.Now()}
		s.run()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := s.Service.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		test(s)
		cancel()
		running.Wait()
	})
}

// fail gives notices of devices that fail now, and lets time pass.
func (s *storm) fail(n int, severity uint8, then time.Duration) {
	s.Helper()
	var some []notify.Notice
	for range n {
		s.n++
		some = append(some, s.notice(s.n, severity))
	}
	if err := s.Notify(s.Context(), andon.DefaultTenant, some); err != nil {
		s.Fatal(err)
	}
	<-time.After(then)
	synctest.Wait()
}

// sent are the counts of the messages that were sent since the last call, and when the first was.
func (s *storm) sent() (counts []int, first time.Duration) {
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	for _, m := range s.to.all {
		counts = append(counts, m.Count)
	}
	if len(counts) > 0 {
		first = s.to.all[0].At.Std().Sub(s.began)
	}
	s.to.all = nil
	return counts, first
}

// listed counts the devices of messages that were not sent.
func (s *storm) listed() (n int) {
	for r, err := range s.Store.Records(s.Context(), andon.DefaultTenant, "message",
		andon.RecordQuery{Limit: 1000}) {
		if err != nil {
			s.Fatal(err)
		}
		var m notify.Message
		if err := json.Unmarshal([]byte(r.Data), &m); err != nil {
			s.Fatal(err)
		}
		if m.Status == notify.Listed {
			n += m.Count
		}
	}
	return n
}

// TestSerialStorm: of 100,000 devices that fail within ten seconds one message is sent, within five
// seconds of the first. It says that more may follow, and what does is listed.
func TestSerialStorm(t *testing.T) {
	inStorm(t, func(s *storm) {
		for range 40 {
			s.fail(2500, 3, 250*time.Millisecond)
		}
		text := s.to.all[0].Text()
		counts, first := s.sent()
		if len(counts) != 1 || counts[0] < 20_000 || first > 5*time.Second {
			s.Errorf("sent %v, first after %s", counts, first)
		}
		want := "More may follow. What does, and is no severer, is only listed"
		if !strings.Contains(text, want) {
			s.Errorf("without %q: %s", want, text)
		}
		s.fail(0, 0, time.Hour)
		if more, _ := s.sent(); len(more) > 0 {
			s.Errorf("sent %v later", more)
		}
		if listed := s.listed(); listed+counts[0] != 100_000 {
			s.Errorf("%d listed after %d", listed, counts[0])
		}
		for l, err := range s.List(s.Context(), andon.DefaultTenant,
			notify.Wanted{Status: notify.Listed}) {
			if err != nil || l.NextAt != 0 || l.Answer != "" {
				s.Errorf("%+v, %v", l, err)
			}
		}
		s.fail(1, 1, 5*time.Second)
		if counts, _ := s.sent(); len(counts) != 1 {
			s.Errorf("an hour later %v were sent", counts)
		}
	})
}

// TestAfterAFlood: what is severer is told at once; what comes after the storm is told two minutes
// after the message of the flood, all in one, as is a storm that goes on.
func TestAfterAFlood(t *testing.T) {
	inStorm(t, func(s *storm) {
		expect := func(when string, want ...int) {
			s.Helper()
			counts, _ := s.sent()
			if len(counts) != len(want) || len(want) > 0 && counts[0] != want[0] {
				s.Errorf("%s: sent %v, want %v", when, counts, want)
			}
		}
		s.fail(10, 3, 5*time.Second)
		expect("ten are no flood", 10)
		s.fail(11, 3, 5*time.Second)
		expect("eleven are", 11)
		s.fail(5, 3, 5*time.Second)
		expect("within the storm")
		s.fail(1, 4, 5*time.Second)
		expect("severer, and what waited", 6)
		s.fail(1, 3, time.Minute)
		expect("still within the storm")
		s.fail(1, 3, 5*time.Second)
		expect("after it, not yet")
		s.fail(0, 0, time.Minute)
		expect("two minutes after the flood", 1)

		s.fail(11, 3, 5*time.Second)
		expect("another flood", 11)
		for range 20 {
			s.fail(2, 3, 5*time.Second)
		}
		s.fail(0, 0, 30*time.Second)
		expect("it goes on for 100 seconds")
		if n := s.listed(); n != 1+40 {
			s.Errorf("%d are listed", n)
		}

		s.fail(11, 3, 5*time.Second)
		expect("a third one", 11)
		for range 50 {
			s.fail(2, 3, 5*time.Second)
		}
		if counts, _ := s.sent(); len(counts) != 1 || counts[0] < 40 {
			s.Errorf("it goes on for 250 seconds: %v", counts)
		}
	})
}

// slow is a store whose writes take a while, and are counted.
type slow struct {
	andon.Store
	puts atomic.Int64
}

func (s *slow) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	s.puts.Add(1)
	<-time.After(5 * time.Millisecond)
	return s.Store.PutRecord(ctx, r)
}

// TestCallsAreGathered: what many calls have for one person at once is stored together, and not by
// each call against the others.
func TestCallsAreGathered(t *testing.T) {
	mem := memstore.New()
	defer mem.Close()
	store := &slow{Store: mem}
	w := newWorld(store)
	const calls, each = 64, 10
	var calling sync.WaitGroup
	for i := range calls {
		calling.Go(func() {
			for n := range each {
				some := []notify.Notice{w.notice(each*i+n, 32)}
				if err := w.Notify(t.Context(), andon.DefaultTenant, some); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calling.Wait()
	if puts := store.puts.Load(); puts > calls*each/4 {
		t.Errorf("%d notices took %d writes", calls*each, puts)
	}
}
