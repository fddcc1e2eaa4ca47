package recent_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/recent"
)

// source is a number that is read slowly.
type source struct {
	*testing.T
	recent.Values[int]
	is, reads int
	takes     time.Duration
	err       error
}

func newSource(t *testing.T) *source {
	s := &source{T: t, is: 1}
	s.Now = func() andon.Time { return andon.TimeOf(time.Now()) }
	return s
}

func (s *source) read(ctx context.Context, _ int) (int, error) {
	s.reads++
	is, err := s.is, s.err
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return is, err
}

func (s *source) get(version uint64) (int, error) {
	return s.Get(s.Context(), "t", version, s.read)
}

func (s *source) want(version uint64, want, reads int) {
	s.Helper()
	got, err := s.get(version)
	if err != nil || got != want || s.reads != reads {
		s.Errorf("got %d after %d readings, %v; want %d after %d", got, s.reads, err, want, reads)
	}
}

func TestReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(t)
		s.want(1, 1, 1)
		s.is = 2
		s.want(1, 1, 1)
		s.want(7, 2, 2) // the tenant was made again
		<-time.After(recent.Age - 1)
		s.want(7, 2, 2)
		<-time.After(1)
		s.want(7, 2, 3)
		s.Forget("t")
		s.want(7, 2, 4)
		s.ForgetAll()
		s.want(7, 2, 5)
	})
}

// TestOneReading: all who ask meanwhile share it, unless it began a second before they asked.
func TestOneReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(t)
		s.takes = 2 * time.Second
		var callers sync.WaitGroup
		for range 9 {
			callers.Go(func() {
				if got, err := s.get(1); got != 1 || err != nil {
					t.Error(got, err)
				}
			})
		}
		<-time.After(1500 * time.Millisecond)
		synctest.Wait()
		s.is = 2
		s.want(1, 2, 2)
		callers.Wait()
	})
}

// TestChangedWhileRead: a value that was read before a change is not kept.
func TestChangedWhileRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(t)
		s.takes = time.Millisecond
		var callers sync.WaitGroup
		callers.Go(func() { _, _ = s.get(1) })
		synctest.Wait()
		s.is = 2
		s.Forget("t")
		s.want(1, 2, 2)
		callers.Wait()
		s.want(1, 2, 2)
	})
}

// TestReaderLeaves: another one reads then; an error of the source is that of all.
func TestReaderLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(t)
		s.takes = time.Minute
		ctx, leave := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := s.Get(ctx, "t", 1, s.read); !errors.Is(err, context.Canceled) {
				t.Error("it has left:", err)
			}
		})
		synctest.Wait()
		s.err = andon.NoTenant("t")
		for range 2 {
			callers.Go(func() {
				if _, err := s.get(1); !errors.Is(err, s.err) || s.reads != 2 {
					t.Error(s.reads, "readings:", err)
				}
			})
		}
		synctest.Wait()
		leave()
		callers.Wait()
	})
}

// TestOneAfterTheFirstLeft: those who waited and those who come later use one value.
func TestOneAfterTheFirstLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all recent.Values[*int]
		all.Now = func() andon.Time { return andon.TimeOf(time.Now()) }
		read := func(ctx context.Context, was *int) (*int, error) {
			if was == nil {
				was = new(int)
			}
			select {
			case <-time.After(time.Minute):
				return was, nil
			case <-ctx.Done():
				return was, ctx.Err()
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		callers.Go(func() { _, _ = all.Get(ctx, "t", 1, read) })
		synctest.Wait()
		values := make([]*int, 2)
		get := func(n int) func() {
			return func() { values[n], _ = all.Get(t.Context(), "t", 1, read) }
		}
		callers.Go(get(0))
		synctest.Wait()
		leave()
		synctest.Wait()
		callers.Go(get(1))
		callers.Wait()
		if values[0] == nil || values[0] != values[1] {
			t.Errorf("two values: %p and %p", values[0], values[1])
		}
	})
}
