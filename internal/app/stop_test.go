package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// closing is a store that says when it was closed.
type closing struct {
	andon.Store
	closed atomic.Bool
}

func (c *closing) Close() error {
	c.closed.Store(true)
	return c.Store.Close()
}

// TestStopWaitsForTheSweep: the store closes after a sweep that is under way, not during it.
func TestStopWaitsForTheSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := func() andon.Time { return andon.TimeOf(time.Now()) }
		a := New(Options{Config: DefaultConfig(), Now: now, Log: slog.New(slog.DiscardHandler)})
		engine, goOn := &closing{Store: memstore.New()}, make(chan struct{})
		var faults wrap.Faults
		var sweeping, closedInIt atomic.Bool
		faults.Set(func(context.Context) error {
			sweeping.Store(true)
			<-goOn
			closedInIt.Store(engine.closed.Load())
			return nil
		}, "Tenants")
		a.store = wrap.Around(engine, faults.Hook)
		a.wire()
		a.tasks.start(a.background()...)
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- a.Stop(t.Context()) }()
		time.Sleep(a.Config.Timeouts.Drain + time.Hour) // of the bubble
		if !sweeping.Load() || engine.closed.Load() {
			t.Errorf("a sweep has begun: %v; the store is closed: %v",
				sweeping.Load(), engine.closed.Load())
		}
		close(goOn)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if !engine.closed.Load() || closedInIt.Load() {
			t.Error("the store was not closed, or during a sweep")
		}
	})
}

// TestStopEndsLongAnswers: what may take as long as it takes does not keep the program from
// stopping, and its client learns it.
func TestStopEndsLongAnswers(t *testing.T) {
	var faults wrap.Faults
	underWay := make(chan struct{})
	faults.Set(func(ctx context.Context) error {
		if ctx.Value(http.ServerContextKey) == nil {
			return nil // it is not of a request
		}
		close(underWay)
		return wrap.Hang(ctx)
	}, "Had")
	a := serveOn(t, wrap.Around(memstore.New(), faults.Hook))
	answer := make(chan string, 1)
	go func() { answer <- exchangeOf(t, http.MethodPost, a.URL()+"/api/v1/sweep", "") }()
	<-underWay
	if err := a.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if got := <-answer; got != "503 again after 5" {
		t.Errorf("the client got %s", got)
	}
}

// asking is an App with a client whose request is served by its connection.
type asking struct {
	*App
	answers *bufio.Reader // of the client
	goOn    chan struct{} // closed so that the request is answered
	hangs   chan struct{} // closed once a sweep is under way, which never ends by itself
}

func newAsking(t *testing.T) *asking {
	t.Helper()
	var counts, sweeps wrap.Faults
	q := &asking{goOn: make(chan struct{}), hangs: make(chan struct{})}
	asked := make(chan struct{})
	counts.Set(func(ctx context.Context) error {
		if ctx.Value(http.ServerContextKey) != nil {
			asked <- struct{}{}
			<-q.goOn
		}
		return nil
	}, "Counts")
	sweeps.Set(func(ctx context.Context) error {
		if ctx.Value(http.ServerContextKey) == nil {
			return nil // it is not of a request
		}
		close(q.hangs)
		return wrap.Hang(ctx)
	}, "Had")
	q.App = serveOn(t, wrap.Around(wrap.Around(memstore.New(), sweeps.Hook), counts.Hook))
	var d net.Dialer
	client, err := d.DialContext(t.Context(), "tcp", q.http.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	q.answers = bufio.NewReader(client)
	fmt.Fprint(client, "GET /api/v1/version HTTP/1.1\r\nHost: localhost\r\n\r\n") // by net/http
	q.answer(t)
	fmt.Fprint(client, "GET /api/v1/states HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-asked
	return q
}

// answer reads the next answer.
func (q *asking) answer(t *testing.T) (status int) {
	t.Helper()
	answer, err := http.ReadResponse(q.answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// TestStopKnowsDirectRequests: one that a connection serves by itself is a request under way, too.
func TestStopKnowsDirectRequests(t *testing.T) {
	a := newAsking(t)
	stopped := make(chan error, 1)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	go func() { stopped <- a.Stop(gone) }()
	if _, err := a.answers.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the client reads %v", err)
	}
	close(a.goOn)
	if err := <-stopped; err == nil || !strings.Contains(err.Error(), "were cut off") {
		t.Errorf("got %v", err)
	}
}

// finishing is a store that says with which deadline it was asked to finish, and can't.
type finishing struct {
	closing
	asked chan time.Time
}

func (f *finishing) Finish(ctx context.Context) error {
	if f.closed.Load() {
		return nil // too late
	}
	until, _ := ctx.Deadline()
	f.asked <- until
	return context.DeadlineExceeded
}

// TestStopHasTheStoreFinish before it closes, within the time for stopping. The store need not
// succeed: it says no more than that the next start takes longer.
func TestStopHasTheStoreFinish(t *testing.T) {
	s := &finishing{closing{Store: memstore.New()}, make(chan time.Time, 1)}
	a := serveOn(t, s)
	if err := a.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if !s.closed.Load() {
		t.Error("the store was not closed")
	}
	select {
	case until := <-s.asked:
		latest := time.Now().Add(a.Config.Timeouts.Stop)
		if until.IsZero() || until.After(latest) {
			t.Errorf("finishing may take until %v, want %v at the latest", until, latest)
		}
	default:
		t.Error("the store was closed without finishing")
	}
}

// TestStopBeginsDuringDirectRequests: while one is served, answers that may take long end already,
// and no client can connect any more.
func TestStopBeginsDuringDirectRequests(t *testing.T) {
	a := newAsking(t)
	swept, stopped := make(chan string, 1), make(chan error, 1)
	go func() {
		defer close(swept)
		swept <- exchangeOf(t, http.MethodPost, a.URL()+"/api/v1/sweep", "")
	}()
	<-a.hangs
	go func() { stopped <- a.Stop(t.Context()) }()
	if got := <-swept; got != "503 again after 5" {
		t.Errorf("the client of a sweep got %s", got)
	}
	var d net.Dialer
	if c, err := d.DialContext(t.Context(), "tcp", a.http.listener.Addr().String()); err == nil {
		c.Close()
		t.Error("another client came")
	}
	close(a.goOn)
	if status := a.answer(t); status != http.StatusOK {
		t.Errorf("the request was answered %d", status)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
