package rwlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon/internal/rwlock"
)

// TestWaiting: a writer waits for the readers, readers after a writer wait for it, and all of them
// stop waiting with their contexts, which leaves the lock to the others.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l rwlock.Lock
		ctx := t.Context()
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		must(t, l.RLock(ctx))
		if !l.TryRLock() {
			t.Error("a reader next to another waits")
		}

		locked := make(chan error)
		go func() { locked <- l.Lock(soon) }()
		synctest.Wait()
		read := make(chan error)
		go func() { read <- l.RLock(ctx) }() // after the writer
		if err := l.RLock(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a reader after a writer: %v", err)
		}
		if err := <-locked; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a writer that readers keep waiting: %v", err)
		}
		must(t, <-read) // since the writer gave up

		go func() { locked <- l.Lock(ctx) }()
		synctest.Wait()
		if l.TryRLock() {
			t.Error("a reader goes before a writer that waits")
		}
		for range 3 {
			select {
			case <-locked:
				t.Fatal("a writer next to readers")
			default:
			}
			l.RUnlock()
			synctest.Wait()
		}
		must(t, <-locked)
		go func() { read <- l.RLock(ctx) }()
		later, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := l.Lock(later); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a writer after a writer: %v", err)
		}
		l.Unlock()
		must(t, <-read)
	})
}

// TestManyAtOnce: of readers and writers that come, wait and give up at random, a writer is always
// alone, and at the end the lock is free.
func TestManyAtOnce(t *testing.T) {
	var l rwlock.Lock
	var all sync.WaitGroup
	shared := 0 // written by writers, read by readers; the race detector looks on
	for seed := range uint64(8) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, 0))
			for range 300 {
				wait := time.Duration(r.IntN(200)) * time.Microsecond
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				if r.IntN(4) > 0 {
					if l.RLock(ctx) == nil {
						_ = shared
						l.RUnlock()
					}
				} else if l.Lock(ctx) == nil {
					shared++
					l.Unlock()
				}
				cancel()
			}
		})
	}
	all.Wait()
	must(t, l.Lock(t.Context()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// waited is a context that notes whether somebody waits for its end.
type waited struct {
	context.Context
	asked bool
}

// Done implements context.Context.
func (w *waited) Done() <-chan struct{} {
	w.asked = true
	return w.Context.Done()
}

// TestAFreeLockTakesNoChannel: contexts of requests set no timer until they are asked for their
// channel, and most of them find the lock free.
func TestAFreeLockTakesNoChannel(t *testing.T) {
	var l rwlock.Lock
	ctx := &waited{Context: t.Context()}
	must(t, l.RLock(ctx))
	l.RUnlock()
	must(t, l.Lock(ctx))
	l.Unlock()
	if ctx.asked {
		t.Error("the context was asked for its channel")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := l.RLock(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}
