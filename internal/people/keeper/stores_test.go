package keeper_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/all"
	"github.com/andonhq/andon/internal/store/cassandrastore"
	"github.com/andonhq/andon/internal/store/dynamostore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// TestSerialScenarios plays each scenario by itself over HTTP, in virtual time, on the stores that
// ask no other machine.
func TestSerialScenarios(t *testing.T) {
	for _, e := range all.New() {
		if e.Place() == adapter.Elsewhere {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			for _, s := range scripts(t) {
				t.Run(s.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { playVirtually(t, e, s) })
				})
			}
		})
	}
}

func playVirtually(t *testing.T, e adapter.Engine, s script) {
	<-time.After(time.Until(s.begin.Std()) - 5*time.Second)
	env := adapter.Env{Log: slog.New(slog.DiscardHandler), Now: clock, Dir: t.TempDir()}
	store, err := e.Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	h := newHouse(t, store, clock)
	h.known, h.leases = documents(t), time.Hour
	h.silentAfter("2400h")
	at, closed := h.serve()
	defer closed()
	h.at = at
	stop := h.keep("a")
	defer func() { stop() }()
	h.restart = func() { stop(); stop = h.keep("b") }
	h.start = s.begin
	happened := false
	for _, l := range s.lines {
		if wait := time.Until(s.begin.Std().Add(l.after)); wait > 0 {
			settle(wait)
		} else if l.expects() && happened {
			settle(2 * time.Second)
		}
		happened = !l.expects()
		h.play(l)
	}
}

// serve serves the API over connections within the process, which take no time.
func (h *house) serve() (c *client.Client, stop func()) {
	h.Helper()
	in := intake.New(h.store, intake.Options{Now: h.now, Purged: func(
		ctx context.Context, t andon.TenantID, d andon.DeviceID,
	) error {
		return h.incidents.Forget(ctx, t, d, andon.Position{})
	}})
	h.groups = in.Groups
	api := httpapi.New(httpapi.Options{
		Store: wrap.Retain(h.store, h.now), Intake: in, Incidents: h.incidents, Now: h.now,
	})
	l := &pipes{all: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: api}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	over := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		one, other := net.Pipe()
		l.all <- other
		return one, nil
	}}
	c, err := client.New(client.Options{URL: "http://andon", HTTP: &http.Client{Transport: over}})
	if err != nil {
		h.Fatal(err)
	}
	return c, func() {
		over.CloseIdleConnections()
		server.Close()
		<-done
	}
}

// pipes is a listener.
type pipes struct {
	all    chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.all:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestSerialScenariosOnEngines plays scenarios at once, each in a tenant of its own, by a clock
// that goes on, a minute at most, when there is nothing left to do: an eighth of them, or with
// ANDON_LONG=1 all. Those about silence and other severities are left out: what is not sent can't
// be waited for, and a shared store reorders after the call. Then it is as TestFigures.
func TestSerialScenariosOnEngines(t *testing.T) {
	t.Run("cassandra", func(t *testing.T) {
		t.Parallel()
		node := enginetest.Cassandra(t)
		e := cassandrastore.NewEngine().(*cassandrastore.Engine)
		e.Hosts, e.Keyspace = []string{node.Addr()}, fmt.Sprintf("people_%08x", rand.Uint32())
		e.Timeout = time.Minute
		playTogether(t, e)
		figures(t, e)
	})
	t.Run("dynamodb", func(t *testing.T) {
		t.Parallel()
		service := enginetest.DynamoDB(t)
		e := dynamostore.NewEngine().(*dynamostore.Engine)
		e.Endpoint, e.Prefix = service.URL, fmt.Sprintf("people_%08x_", rand.Uint32())
		if e.Timeout = time.Minute; service.URL != "" {
			e.Key, e.Secret = "any", "any"
		}
		playTogether(t, e)
		figures(t, e)
	})
}

// together is scenarios of one beginning.
type together struct {
	*house
	time    atomic.Int64
	tenants map[andon.TenantID]*house
	busy    sync.Map // tenants that may have changes which are not taken in
}

func playTogether(t *testing.T, e adapter.Engine) {
	t.Helper()
	env := adapter.Env{Log: slog.New(slog.DiscardHandler), Now: clock}
	if err := e.Init(t.Context(), env, adapter.Setup{}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	store, err := e.Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	begins(t, store)
	starts := map[andon.Time][]script{}
	for i, s := range scripts(t) {
		if s.waits() || i%8 != 0 && os.Getenv(enginetest.LongTests) == "" {
			continue
		}
		starts[s.begin] = append(starts[s.begin], s)
	}
	for begin, some := range starts {
		w := &together{tenants: map[andon.TenantID]*house{}}
		w.time.Store(int64(begin))
		w.house = newHouse(t, store, func() andon.Time { return andon.Time(w.time.Load()) })
		w.known, w.notifier, w.leases = documents(t), w, time.Minute
		w.of = func(id andon.TenantID) *house {
			if h := w.tenants[id]; h != nil {
				return h
			}
			return w.house // the tenant default
		}
		w.play(some, begin)
	}
}

// Notify implements notify.Notifier. Scenarios of an earlier beginning may still have steps that
// are due: nobody waits for those.
func (w *together) Notify(ctx context.Context, t andon.TenantID, all []notify.Notice) error {
	if h := w.tenants[t]; h != nil {
		return h.Notify(ctx, t, all)
	}
	return nil
}

// play plays scenarios.
func (w *together) play(some []script, begin andon.Time) {
	w.Helper()
	at, closed := w.serve()
	defer closed()
	var stop func()
	w.restart = func() { stop(); stop = w.keep("b") }
	next := map[andon.TenantID][]line{}
	for i, s := range some {
		id := andon.TenantID(fmt.Sprintf("s%d-%08x", i, rand.Uint32()))
		if _, err := w.store.PutTenant(w.Context(), andon.NewTenant(id)); err != nil {
			w.Fatal(err)
		}
		h := newHouse(w.T, w.store, w.now)
		h.tenant, h.known = id, w.known
		h.at, h.restart, h.start = at.ForTenant(id), w.restart, begin
		h.silentAfter("2400h")
		w.tenants[id], next[id] = h, s.lines
		w.busy.Store(id, true)
	}
	stop = w.keep("a") // the leases of all tenants are taken at once
	defer func() { stop() }()
	for _, now := range instants(some) {
		if w.Failed() {
			break
		}
		w.time.Store(int64(begin.Add(andon.DurationOf(now))))
		w.settle()
		for more := true; more; w.settle() {
			more = false
			for id, h := range w.tenants {
				for len(next[id]) > 0 && next[id][0].after <= now {
					l := next[id][0]
					if busy, _ := w.busy.Load(id); l.expects() && busy == true {
						more = true
						break
					}
					w.busy.Store(id, !l.expects())
					h.play(l)
					next[id] = next[id][1:]
				}
			}
		}
	}
}

// instants returns each minute of scenarios, and when something happens between two.
func instants(some []script) []time.Duration {
	at := map[time.Duration]bool{}
	for _, s := range some {
		for _, l := range s.lines {
			at[l.after] = true
		}
		for now := time.Duration(0); now < s.lines[len(s.lines)-1].after; now += time.Minute {
			at[now] = true
		}
	}
	return slices.Sorted(maps.Keys(at))
}

// settle waits until what is due has been done, and all changes are taken in. A tenant whose lease
// was not saved with its last change has settled, too, once nothing has changed for a while.
func (w *together) settle() {
	w.Helper()
	const still = 15 * time.Second
	over, began, was := time.After(3*time.Minute), time.Now(), uint64(0)
	for {
		var waits, left, changes atomic.Int64
		ids := slices.Collect(maps.Keys(w.tenants))
		err := parallel.Do(w.Context(), len(ids), 16, func(ctx context.Context, i int) error {
			does, behind, n, err := w.settled(ctx, ids[i])
			changes.Add(int64(n))
			if does {
				left.Add(1)
			}
			if w.busy.Store(ids[i], does || behind); does || behind {
				waits.Add(1)
			}
			return err
		})
		if err != nil {
			w.Fatal(err)
		}
		if n := uint64(changes.Load()); n != was || left.Load() > 0 {
			began, was = time.Now(), n
		}
		if waits.Load() == 0 || time.Since(began) > still {
			for _, id := range ids {
				w.busy.Store(id, false)
			}
			return
		}
		select {
		case <-over:
			w.Fatalf("there is something left to do: %s", w.left())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// left names the devices of the tenants that have not settled.
func (w *together) left() (all []string) {
	for id := range w.tenants {
		if busy, _ := w.busy.Load(id); busy == true {
			open, err := w.incidents.Open(w.Context(), id)
			all = append(all, fmt.Sprint(id, " ", err))
			for _, in := range open {
				all = append(all, fmt.Sprintf("%s %+v", in.Device, in.Steps))
			}
		}
	}
	return all
}

// settled reports whether something is left to do in a tenant, whether there may be changes that
// are not taken in, and how often incidents have changed.
func (w *together) settled(
	ctx context.Context, id andon.TenantID,
) (left, behind bool, changes uint64, err error) {
	changed, err := w.incidents.Changed(ctx, id, math.MaxUint64)
	if err != nil {
		return false, false, 0, err
	}
	before := changed.Number
	open, err := w.incidents.Open(ctx, id)
	if err != nil {
		return false, false, 0, err
	}
	s, err := w.incidents.Setting(ctx, id)
	if err != nil {
		return false, false, 0, err
	}
	left = slices.ContainsFunc(open, func(in *people.Incident) bool {
		due, again := in.Due(), in.Clone()
		again.Review(s)
		return due != 0 && due <= s.Now || len(in.Doing) > 0 || again.Maintenance != in.Maintenance
	})
	if busy, _ := w.busy.Load(id); left || busy == false {
		return left, false, before, nil
	}
	r, err := w.store.Record(ctx, "", lease.Kind, "incidents/of "+string(id))
	if andon.KindOf(err) == andon.NotFound && err != nil {
		return false, true, before, nil
	} else if err != nil {
		return false, false, 0, err
	}
	var is struct{ Position struct{ At andon.Position } }
	if json.Unmarshal([]byte(r.Data), &is) != nil || is.Position.At == (andon.Position{}) {
		return false, true, before, nil
	}
	for _, err := range w.store.Changes(ctx, id, is.Position.At) {
		return false, true, before, err
	}
	changed, err = w.incidents.Changed(ctx, id, math.MaxUint64)
	return false, before != changed.Number, changed.Number, err
}
