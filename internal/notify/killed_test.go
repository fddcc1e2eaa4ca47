package notify_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/store/memstore"
)

// mortal is the store as a process has it that is killed: from then on it changes nothing.
type mortal struct {
	andon.Store
	dead atomic.Bool
}

func (m *mortal) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if m.dead.Load() {
		return r, errors.New("the process is dead")
	}
	return m.Store.PutRecord(ctx, r)
}

// other is the other side: when it got which message. It answers at once, or when it is let.
type other struct {
	waiting // what else a channel has
	mu      sync.Mutex
	ids     []string
	at      []time.Time
	let     chan struct{}
}

func (o *other) Send(ctx context.Context, m *notify.Message) (string, error) {
	o.mu.Lock()
	o.ids, o.at = append(o.ids, m.ID), append(o.at, time.Now())
	o.mu.Unlock()
	select {
	case <-o.let:
		return "ok", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// running runs a service of a world in a bubble, and returns what ends it.
func running(t *testing.T, w *world, to *other) (end func()) {
	w.run()
	w.Channels["c"] = to
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		if err := w.Service.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return func() { cancel(); done.Wait() }
}

// TestKilledAsItSends: a message that is under way as its process is killed, whether the other side
// has answered or not, is sent by one of two others once its lease is over, once, and is the same.
func TestKilledAsItSends(t *testing.T) {
	for name, answered := range map[string]bool{"not answered": false, "answered": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &mortal{Store: memstore.New()}
				defer store.Close()
				to := &other{let: make(chan struct{})}
				w := newWorld(store)
				end := running(t, w, to)
				some := []notify.Notice{w.notice(1, 3)}
				if err := w.Notify(t.Context(), andon.DefaultTenant, some); err != nil {
					t.Fatal(err)
				}
				<-time.After(10 * time.Second)
				store.dead.Store(true)
				if answered {
					close(to.let)
					synctest.Wait()
				}
				end()

				next := &other{let: make(chan struct{})}
				close(next.let)
				for range 2 {
					w = newWorld(store.Store)
					defer running(t, w, next)()
				}
				<-time.After(time.Hour)
				synctest.Wait()
				if len(to.ids) != 1 || !slices.Equal(next.ids, to.ids) {
					t.Fatalf("%v was sent, and then %v", to.ids, next.ids)
				}
				if after := next.at[0].Sub(to.at[0]); after < 90*time.Second ||
					after > 92*time.Second {
					t.Errorf("it is sent again after %s", after)
				}
				n := 0
				for one, err := range w.List(t.Context(), "default", notify.Wanted{}) {
					if n++; err != nil || one.ID != to.ids[0] || one.Status != notify.Delivered {
						t.Errorf("the log has %+v: %v", one, err)
					}
				}
				if n != 1 {
					t.Errorf("the log has %d attempts", n)
				}
			})
		})
	}
}
