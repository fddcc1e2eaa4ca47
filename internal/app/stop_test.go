package app

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/memstore"
)

// sweeping is a store that is in a sweep until it is told to go on.
type sweeping struct {
	andon.Store
	goOn                     chan struct{}
	begun, under, closedInIt atomic.Bool
	closed                   atomic.Bool
}

func (s *sweeping) Tenants(ctx context.Context) ([]andon.Tenant, error) {
	s.begun.Store(true)
	s.under.Store(true)
	<-s.goOn
	s.under.Store(false)
	return s.Store.Tenants(ctx)
}

func (s *sweeping) Close() error {
	s.closedInIt.Store(s.under.Load())
	s.closed.Store(true)
	return s.Store.Close()
}

// TestStopWaitsForTheSweep: the store closes behind a sweep that is under way, not below it.
func TestStopWaitsForTheSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := func() andon.Time { return andon.TimeOf(time.Now()) }
		a := New(Options{Config: config.Default(), Now: now, Log: slog.New(slog.DiscardHandler)})
		store := &sweeping{Store: memstore.New(), goOn: make(chan struct{})}
		a.store = store
		a.wire("", true)
		a.server = &http.Server{} // without a listener
		a.goTasks()
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- a.Stop(t.Context()) }()
		time.Sleep(a.Config.Timeouts.Drain + time.Hour) // of the bubble
		if !store.begun.Load() || store.closed.Load() {
			t.Errorf("a sweep has begun: %v; the store is closed: %v",
				store.begun.Load(), store.closed.Load())
		}
		close(store.goOn)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if !store.closed.Load() || store.closedInIt.Load() {
			t.Error("the store was not closed, or during a sweep")
		}
	})
}
