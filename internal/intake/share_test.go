package intake

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
)

// bubble are options by the clock of a bubble of synctest.
func bubble() *Options {
	now := func() andon.Time { return andon.TimeOf(time.Now()) }
	return &Options{Now: now, MaxWait: time.Second}
}

func TestRoomIsBounded(t *testing.T) {
	r := &Budget{most: 100}
	if err := r.Take(60); err != nil {
		t.Fatal(err)
	}
	if err := r.Take(60); andon.KindOf(err) != andon.Busy {
		t.Errorf("beyond the capacity: %v", err)
	}
	r.Give(60)
	if err := r.Take(100); err != nil || r.Used() != 100 {
		t.Errorf("all of the capacity, once it is free: %v", err)
	}
}

// TestOverloadIsRefused has ten times as many clients as can be worked at, each at once again once
// it is answered: what is accepted begins within the longest wait, the others are refused, and no
// work that could be done is left undone.
func TestOverloadIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, atOnce, took = 200, 10, 100 * time.Millisecond
		s := newShare("writes", atOnce, atOnce, bubble())
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		var accepted, refused, most, now atomic.Int64
		var all sync.WaitGroup
		began := time.Now()
		for range clients {
			all.Go(func() {
				for ctx.Err() == nil {
					from := time.Now()
					turn, err := s.Enter(ctx, 1)
					waited := time.Since(from)
					switch {
					case err == nil && waited > time.Second:
						t.Errorf("began after %s", waited)
					case andon.KindOf(err) == andon.Busy &&
						waited != time.Second && waited != workAim:
						t.Errorf("refused after %s", waited)
					case time.Since(began) > 2*time.Second && waited > workAim:
						t.Errorf("waited %s in a standing queue", waited)
					}
					if err != nil {
						refused.Add(1)
						continue
					}
					accepted.Add(1)
					most.Store(max(most.Load(), now.Add(1)))
					time.Sleep(took)
					now.Add(-1)
					turn.Leave()
				}
			})
		}
		all.Wait()
		cancel()
		if most.Load() != atOnce {
			t.Errorf("%d were worked at at once", most.Load())
		}
		if n := accepted.Load(); n < 5*10*atOnce*9/10 {
			t.Errorf("%d were accepted in 5 s, less than could be done", n)
		}
		if refused.Load() == 0 {
			t.Error("none was refused")
		}
		if s.used != 0 || s.waiting.Len() != 0 {
			t.Errorf("%d in use and %d waiting at the end", s.used, s.waiting.Len())
		}
		if w := waitInVain(t, s); w != time.Second {
			t.Errorf("once it was empty, work waits %s", w)
		}
	})
}

// waitInVain returns how long work waits for a share that is taken, until it is refused.
func waitInVain(t *testing.T, s *Share) time.Duration {
	turn, err := s.Enter(t.Context(), s.most)
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Leave()
	from := time.Now()
	if _, err := s.Enter(t.Context(), 1); andon.KindOf(err) != andon.Busy {
		t.Errorf("got %v", err)
	}
	return time.Since(from)
}

// TestSlowWorkIsLetInLess has work that takes longer the more of it there is, as on a slow disk: so
// little is let in that it ends in about the time it should, and more again once it is quick.
func TestSlowWorkIsLetInLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShare("writes", 1, 1000, bubble())
		var each atomic.Int64 // what one takes of the machine
		each.Store(int64(50 * time.Millisecond))
		var mu sync.Mutex
		var longest time.Duration
		machine := make(chan struct{}, 1) // a mutex would hold the bubble's clock
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				for ctx.Err() == nil {
					turn, err := s.Enter(ctx, 1)
					if err != nil {
						continue
					}
					from := time.Now()
					machine <- struct{}{}
					time.Sleep(time.Duration(each.Load()))
					<-machine
					mu.Lock()
					longest = max(longest, time.Since(from))
					mu.Unlock()
					turn.Leave()
				}
			})
		}
		limit := func() int64 {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.limit
		}
		time.Sleep(20 * time.Second) // of the bubble's clock
		mu.Lock()
		longest = 0
		mu.Unlock()
		time.Sleep(20 * time.Second)
		mu.Lock()
		if longest > 2*workAim {
			t.Errorf("what was let in took up to %s, with %d at once", longest, limit())
		}
		mu.Unlock()
		slow := limit()
		each.Store(int64(time.Millisecond))
		time.Sleep(20 * time.Second)
		if quick := limit(); quick < 4*slow {
			t.Errorf("%d at once when it is quick, %d when it was slow", quick, slow)
		}
		cancel()
		all.Wait()
	})
}

// TestLargeWorkWaitsForRoom: what is heavier than all of a share is worked at alone, and keeps its
// place in the line.
func TestLargeWorkWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShare("imports", 10, 10, bubble())
		turn, err := s.Enter(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		var all sync.WaitGroup
		for _, w := range []struct {
			name   string
			weight int64
		}{{"large", 50}, {"small", 1}} {
			all.Go(func() {
				turn, err := s.Enter(t.Context(), w.weight)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, w.name)
				time.Sleep(time.Millisecond)
				turn.Leave()
			})
			synctest.Wait()
		}
		if len(order) > 0 {
			t.Errorf("%v did not wait", order)
		}
		turn.Leave()
		all.Wait()
		if len(order) != 2 || order[0] != "large" {
			t.Errorf("in the order %v", order)
		}
	})
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShare("reads", 1, 1, bubble())
		turn, _ := s.Enter(t.Context(), 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.Enter(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if s.waiting.Len() != 0 {
			t.Error("it still waits")
		}
		turn.Leave()
		turn.Leave() // harmless
		if turn, err := s.Enter(t.Context(), 1); err != nil {
			t.Error(err)
		} else {
			turn.Leave()
		}
	})
}

// TestWhoIsLetInHasItsTurn: work that is let in just as its client leaves has its turn, and so
// gives it back.
func TestWhoIsLetInHasItsTurn(t *testing.T) {
	s := newShare("reads", 10, 10, bubble())
	ctx, leave := context.WithCancel(t.Context())
	leave()
	for range 50 { // select takes one of two at random
		w := &waiter{weight: 1, admitted: make(chan struct{}), maxWait: time.Hour}
		close(w.admitted)
		if err := s.await(ctx, w); err != nil {
			t.Fatalf("it was let in, and got %v", err)
		}
	}
}

// TestWhoGivesUpLetsOthersIn: work that waits for more than is left, and gives up, does not keep
// out what stood after it and fits.
func TestWhoGivesUpLetsOthersIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShare("imports", 10, 10, bubble())
		turn, err := s.Enter(t.Context(), 6)
		if err != nil {
			t.Fatal(err)
		}
		defer turn.Leave()
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := s.Enter(ctx, 8); !errors.Is(err, context.Canceled) {
				t.Errorf("the large one: %v", err)
			}
		})
		synctest.Wait()
		entered := false
		all.Go(func() {
			if turn, err := s.Enter(t.Context(), 3); err == nil {
				entered = true
				turn.Leave()
			}
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		if !entered {
			t.Error("the small one still waits")
		}
		all.Wait()
	})
}

// TestBusy: it is busy while there is a write for every second processor, whatever that weighs.
func TestBusy(t *testing.T) {
	s := newShares(&Options{Now: bubble().Now, MaxReads: 1000, MaxRequests: 1000})
	var slots []Slot
	for range (runtime.GOMAXPROCS(0) + 1) / 2 {
		if s.Busy() {
			t.Errorf("it is busy with %d", len(slots))
		}
		slot, err := s.Writes.Enter(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		slots = append(slots, slot)
	}
	if !s.Busy() {
		t.Error("it is not busy")
	}
	slots[0].Leave()
	if s.Busy() {
		t.Error("it is still busy")
	}
}
