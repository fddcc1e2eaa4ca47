package lease_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/store/memstore"
)

func holder(s andon.Records, owner string) *lease.Holder {
	return &lease.Holder{Records: s, Owner: owner, For: 8 * time.Second}
}

// counting adds one to the position again and again.
func counting(turns *atomic.Int64) func(context.Context, *lease.Lease) error {
	return func(ctx context.Context, l *lease.Lease) error {
		for ctx.Err() == nil {
			n, _ := strconv.Atoi(string(l.Position()))
			if err := l.Save(ctx, andon.JSON(strconv.Itoa(n+1))); err != nil {
				return err
			}
			turns.Add(1)
			time.Sleep(time.Second)
		}
		return nil
	}
}

// TestOneAtATime: of several processes one works at a time, and the next one goes on where it
// stopped.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		var all sync.WaitGroup
		var turns, working atomic.Int64
		for n := range 3 {
			all.Go(func() {
				h := holder(s, strconv.Itoa(n))
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n+1)*20*time.Second)
				defer cancel()
				err := h.Hold(ctx, "x", func(ctx context.Context, l *lease.Lease) error {
					if working.Add(1) > 1 {
						t.Error("two work at once")
					}
					defer working.Add(-1)
					return counting(&turns)(ctx, l)
				})
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		r, err := s.Record(t.Context(), "", lease.Kind, "x")
		if err != nil {
			t.Fatal(err)
		}
		want := `{"position":` + strconv.Itoa(int(turns.Load())) + `}`
		if string(r.Data) != want || turns.Load() < 50 {
			t.Errorf("%s after %d turns, want %s", r.Data, turns.Load(), want)
		}
	})
}

// hanging is a store whose writes fail for a process from some moment on, as if it were paused or
// cut off.
type hanging struct {
	andon.Store
	cut *atomic.Bool
}

func (h hanging) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if h.cut.Load() {
		return r, andon.Errorf(andon.Unavailable, "cut off")
	}
	return h.Store.PutRecord(ctx, r)
}

// TestLost: the work of a process that can't renew its lease ends before another one begins, and
// it can save nothing from then on.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		var cut atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var ended, began atomic.Int64
		all.Go(func() {
			h := holder(hanging{s, &cut}, "first")
			_ = h.Hold(ctx, "x", func(held context.Context, l *lease.Lease) error {
				if err := l.Save(held, `"first"`); err != nil {
					t.Error(err)
				}
				cut.Store(true)
				<-held.Done()
				ended.Store(time.Now().UnixNano())
				time.Sleep(20 * time.Second) // the other one has it meanwhile
				cut.Store(false)
				if err := l.Save(ctx, `"late"`); !errors.Is(err, lease.ErrLost) {
					t.Errorf("saved late: %v", err)
				}
				<-ctx.Done()
				return nil
			})
		})
		synctest.Wait()
		all.Go(func() {
			_ = holder(s, "second").Hold(ctx, "x", func(_ context.Context, l *lease.Lease) error {
				began.Store(time.Now().UnixNano())
				if l.Position() != `"first"` {
					t.Errorf("begins at %s", l.Position())
				}
				time.Sleep(time.Minute)
				cancel()
				return nil
			})
		})
		all.Wait()
		if ended.Load() == 0 || began.Load() < ended.Load() {
			t.Errorf("the first ended at %d, the second began at %d", ended.Load(), began.Load())
		}
	})
}

// TestWrittenNevertheless: a write that failed and was done is no loss of the lease.
func TestWrittenNevertheless(t *testing.T) {
	s := &lying{Store: memstore.New()}
	h := holder(s, "first")
	err := h.Hold(t.Context(), "x", func(ctx context.Context, l *lease.Lease) error {
		s.lies = true
		if err := l.Save(ctx, `1`); err == nil {
			t.Error("no error")
		}
		s.lies = false
		if err := l.Save(ctx, `2`); err != nil {
			t.Error(err)
		}
		return errors.New("done")
	})
	r, _ := s.Record(t.Context(), "", lease.Kind, "x")
	if err == nil || err.Error() != "done" || string(r.Data) != `{"position":2}` {
		t.Errorf("%v, %s", err, r.Data)
	}
}

// lying is a store that does what it says has failed.
type lying struct {
	andon.Store
	lies bool
}

func (s *lying) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	kept, err := s.Store.PutRecord(ctx, r)
	if s.lies && err == nil {
		err = andon.Errorf(andon.Unavailable, "no answer")
	}
	return kept, err
}

// stuck is a store whose writes get stuck for a process from some moment on, whatever their context
// says, and are done in the end.
type stuck struct {
	andon.Store
	from time.Time
	late func()
}

func (s stuck) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if time.Since(s.from) > 0 {
		time.Sleep(30 * time.Second)
		defer s.late()
	}
	return s.Store.PutRecord(context.WithoutCancel(ctx), r)
}

// TestRenewalStuck: the work ends before another one begins also where a renewal does not return,
// and that renewal changes nothing when it goes on.
func TestRenewalStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var working, late atomic.Int64
		begin := func(s andon.Records, owner string) {
			all.Go(func() {
				h := holder(s, owner)
				_ = h.Hold(ctx, "x", func(held context.Context, _ *lease.Lease) error {
					if working.Add(1) > 1 {
						t.Error("two work at once")
					}
					defer working.Add(-1)
					<-held.Done()
					return nil
				})
			})
		}
		begin(stuck{s, time.Now(), func() { late.Add(1) }}, "first")
		synctest.Wait()
		begin(s, "second")
		time.Sleep(time.Minute)
		if r, err := s.Record(ctx, "", lease.Kind, "x"); err != nil ||
			string(r.Data) != `{"owner":"second"}` || late.Load() == 0 {
			t.Errorf("%s, %v after %d late writes", r.Data, err, late.Load())
		}
		cancel()
		all.Wait()
	})
}

// TestRenewalKeepsPosition: a renewal never undoes a Save that is under way with it.
func TestRenewalKeepsPosition(t *testing.T) {
	s := slow{memstore.New()}
	ctx, cancel := context.WithCancel(t.Context())
	h := &lease.Holder{Records: s, Owner: "first", For: 60 * time.Millisecond, Alone: true}
	n := 0
	_ = h.Hold(ctx, "x", func(held context.Context, l *lease.Lease) error {
		for ; n < 50; n++ {
			if err := l.Save(ctx, andon.JSON(strconv.Itoa(n))); err != nil {
				return err
			}
			<-time.After(time.Duration(n) * 400 * time.Microsecond)
			if r, err := s.Record(ctx, "", lease.Kind, "x"); err != nil ||
				string(r.Data) != `{"owner":"first","position":`+strconv.Itoa(n)+`}` {
				t.Errorf("%s, %v after position %d", r.Data, err, n)
			}
		}
		cancel()
		return nil
	})
}

// slow is a store whose writes take a while.
type slow struct{ andon.Store }

func (s slow) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	<-time.After(2 * time.Millisecond)
	return s.Store.PutRecord(ctx, r)
}
