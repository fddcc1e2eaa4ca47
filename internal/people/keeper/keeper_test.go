package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/keeper"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
	"github.com/andonhq/andon/internal/wallclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(enginetest.Engines{M: m}) }

// house is a tenant of a store, with what keeps its incidents.
type house struct {
	*testing.T
	store     andon.Store
	incidents *records.Incidents
	known     *people.Known      // absent: the policy of TestKept
	documents *records.Documents // what is known, if it is set
	now       func() andon.Time
	passed    func() time.Duration // as of wallclock.New
	notifier  notify.Notifier      // absent: the house itself
	leases    time.Duration
	busy      func() bool
	retired   func(context.Context, andon.TenantID, andon.DeviceID) error
	assigns   func()       // just before a policy does; absent: nothing happens
	log       slog.Handler // absent: nobody reads it
	keeper    *keeper.Keeper

	groups *groups.Groups              // absent: no device is in any, or belongs to another one
	of     func(andon.TenantID) *house // each tenant's; the house itself unless set

	tenant  andon.TenantID
	at      *client.Client // scenarios act through it
	restart func()
	start   andon.Time
	kept    atomic.Int64 // the time before which entries have expired

	mu   sync.Mutex
	told []string // "15m Sara d1"
}

func clock() andon.Time { return andon.TimeOf(time.Now()) }

func newHouse(t *testing.T, s andon.Store, now func() andon.Time) *house {
	h := &house{T: t, store: s, now: now, leases: 8 * time.Second, tenant: "default",
		log: slog.DiscardHandler}
	h.incidents, h.notifier = records.NewIncidents(s, now), h
	h.passed = func() time.Duration { return now().Sub(0).Std() } // the clock is never set
	h.of = func(andon.TenantID) *house { return h }
	return h
}

func (h *house) Notify(_ context.Context, _ andon.TenantID, all []notify.Notice) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range all {
		at := h.now().Sub(h.start).Std().Truncate(10 * time.Second).String()
		at = strings.TrimSuffix(strings.TrimSuffix(at, "0s"), "0m")
		h.told = append(h.told, fmt.Sprint(at, " ", n.To, " ", n.Incident.Device))
	}
	return nil
}

func (h *house) Assign(
	ctx context.Context, t andon.TenantID, a []andon.Assignment,
) ([]andon.Assignment, error) {
	if h.assigns != nil && a[0].Over != nil {
		h.assigns()
	}
	return h.store.Assign(ctx, t, h.now(), a)
}

func (h *house) Escalate(
	ctx context.Context, t andon.TenantID, e andon.Escalation,
) (andon.Escalation, bool, error) {
	if e.At = h.now(); int64(e.Time) < h.kept.Load() {
		return e, false, andon.Errorf(andon.NotFound, "it has expired")
	}
	return h.store.Escalate(ctx, t, e)
}

// keep starts a keeper, and returns what stops it.
func (h *house) keep(owner string) (stop func()) {
	if h.known == nil {
		h.known = &people.Known{Policies: []people.Policy{{
			Name: "p", Assign: "person Liz", Steps: []people.PolicyStep{
				{After: 5 * 60_000_000, To: "operator"},
				{After: 15 * 60_000_000, To: "supervisor Sara"},
			},
		}}}
	}
	k := &keeper.Keeper{
		Store: h.store, Incidents: h.incidents, Doer: h, Notifier: h.notifier, Now: h.now,
		Clock: wallclock.New(h.now, h.passed, andon.ClockMark{}, nil), Log: slog.New(h.log),
		Leases: &lease.Holder{Records: h.store, Owner: owner, For: h.leases},
		Busy:   h.busy, Retired: h.retired,
		Setting: func(ctx context.Context, t andon.TenantID) (*people.Setting, error) {
			tenant, err := h.store.Tenant(ctx, t)
			of := h.of(t)
			of.mu.Lock()
			known := of.known
			of.mu.Unlock()
			if h.documents != nil && err == nil {
				known, err = h.documents.Known(ctx, t)
			}
			is := &people.Setting{Known: known, States: tenant.States}
			if h.groups == nil || err != nil {
				return is, err
			}
			all, err := h.groups.Select(ctx, t, groups.Selection{})
			is.Groups, is.Children = all.Groups, all.Children
			is.Parent = func(d andon.DeviceID) andon.DeviceID { return all.Profile(d).Parent }
			return is, err
		},
	}
	if h.documents != nil {
		k.Forget = h.documents.Forget
	}
	if h.groups != nil {
		k.Learn = h.groups.LearnShown
	}
	h.keeper, h.incidents.Setting = k, k.SettingNow
	h.incidents.Effects = func(
		ctx context.Context, t andon.TenantID, one *records.Held,
	) error {
		return k.Effects(ctx, t, one)
	}
	ctx, cancel := context.WithCancel(h.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := k.Run(ctx); err != nil {
			h.Error(err)
		}
	})
	return func() { cancel(); running.Wait() }
}

func (h *house) is(state andon.State) {
	h.Helper()
	e := andon.Event{Device: "d1", Time: clock(), State: state}
	if err := h.store.Append(h.Context(), "default", clock(), []andon.Event{e}); err != nil {
		h.Fatal(err)
	}
	settle(2 * time.Second)
}

func settle(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// only returns the only open incident.
func (h *house) only() *people.Incident {
	h.Helper()
	all, err := h.incidents.Open(h.Context(), "default")
	if err != nil || len(all) != 1 {
		h.Fatalf("%d are open, %v", len(all), err)
	}
	whole, err := h.incidents.Get(h.Context(), "default", all[0].ID)
	if err != nil {
		h.Fatal(err)
	}
	return &whole
}

func (h *house) act(do people.ActionKind) {
	h.Helper()
	a := people.Action{Do: do, By: "Liz"}
	if _, err := h.incidents.Act(h.Context(), "default", h.only().ID, a); err != nil {
		h.Fatal(err)
	}
}

// TestKept: what happens to a device with two keepers, by what people are told of it.
func TestKept(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(h *house)
		want string
		log  string
	}{
		{"nobody does anything", func(*house) {}, "5m Liz d1, 15m Sara d1",
			"opened, policy started, assigned, notified, escalated"},
		{"acknowledged", func(h *house) { h.act(people.Acknowledge) }, "",
			"opened, policy started, assigned, acknowledged"},
		{"repeated", func(h *house) { settle(time.Minute); h.is("WARNING1") },
			"5m Liz d1, 15m Sara d1", "opened, policy started, assigned, notified, escalated"},
		{"returned", func(h *house) { h.is("NORMAL") }, "",
			"opened, policy started, assigned, returned to normal"},
		{"opened again", func(h *house) {
			h.is("NORMAL")
			h.is("WARNING1")
			h.act(people.Take)
		}, "", "opened, policy started, taken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, memstore.New(), clock)
				h.silentAfter("24h")
				a := h.keep("a")
				defer h.keep("b")()
				settle(5 * time.Second)
				h.start = clock()
				h.is("WARNING1")
				if d, err := h.store.Device(t.Context(), "default", "d1"); d.Operator != "Liz" {
					t.Errorf("%q is the operator, %v", d.Operator, err)
				}
				c.do(h)
				settle(2 * time.Minute)
				a() // the other one goes on
				settle(time.Hour)
				if got := strings.Join(h.told, ", "); got != c.want {
					t.Errorf("told: %s; want %s", got, c.want)
				}
				var log []string
				in := h.only()
				for _, s := range in.Steps {
					log = append(log, s.What)
				}
				if got := strings.Join(log, ", "); got != c.log || len(in.Doing) > 0 {
					t.Errorf("the log has %s; want %s", got, c.log)
				}
			})
		})
	}
}

// TestSettingsWhileStatesChange: what a device shows just before and after a change of its tenant
// is taken in, though all devices are compared then.
func TestSettingsWhileStatesChange(t *testing.T) {
	for name, acknowledged := range map[string]bool{"first": false, "after another": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, memstore.New(), clock)
				h.silentAfter("24h")
				stop := h.keep("a")
				settle(5 * time.Second)
				if acknowledged {
					h.is("WARNING1")
					h.act(people.Acknowledge)
				}
				stop()
				h.is("NORMAL")
				h.is("WARNING2")
				h.silentAfter("23h")
				h.is("NORMAL")
				h.is("WARNING3")
				defer h.keep("a")()
				settle(time.Minute)
				if in := h.only(); in.State != "WARNING3" || in.Acknowledged != nil {
					t.Errorf("it is in %s, acknowledged %v", in.State, in.Acknowledged)
				}
				all, err := h.incidents.OfDevice(t.Context(), h.tenant, "d1", andon.Span{}, 10)
				want := []andon.State{"WARNING3", "WARNING2", "WARNING1"}
				if !acknowledged {
					want = want[:2]
				}
				var got []andon.State
				for i := range all {
					got = append(got, all[i].State)
					if !slices.ContainsFunc(all[i].Steps, func(s people.Step) bool {
						return s.What == "opened"
					}) {
						t.Errorf("nobody saw the one in %s", all[i].State)
					}
				}
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("there were %v, %v; want %v", got, err, want)
				}
			})
		})
	}
}

// TestRetired: it is told that a device was retired, and again where that could not be taken in.
func TestRetired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, memstore.New(), clock)
		var told []andon.DeviceID
		h.retired = func(_ context.Context, _ andon.TenantID, d andon.DeviceID) error {
			if told = append(told, d); len(told) == 1 {
				return errors.New("the power is off")
			}
			return nil
		}
		defer h.keep("a")()
		settle(5 * time.Second)
		h.is("NORMAL")
		if _, err := h.store.Retire(t.Context(), "default", "d1", clock()); err != nil {
			t.Fatal(err)
		}
		if settle(time.Minute); !slices.Equal(told, []andon.DeviceID{"d1", "d1"}) {
			t.Errorf("%v are retired", told)
		}
	})
}

// TestChangedPolicy: a policy that changes, is deleted and is put again counts for open incidents.
func TestChangedPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, memstore.New(), clock)
		h.silentAfter("24h")
		put := func(after ...string) {
			p := people.Policy{Name: "p"}
			for _, text := range after {
				step := people.PolicyStep{After: parsed(t, text), To: "person Liz"}
				p.Steps = append(p.Steps, step)
			}
			h.mu.Lock()
			h.known = &people.Known{Policies: []people.Policy{p}[:min(len(after), 1)]}
			h.mu.Unlock()
		}
		put("0s", "8s")
		defer h.keep("a")()
		settle(5 * time.Second)
		h.start = clock()
		h.is("WARNING1")
		for _, after := range []string{"1h", "10m", "2m"} {
			put("0s", after)
			settle(2 * time.Second)
			if next := h.only().Policy.Next; next.Sub(h.start).Std() < parsed(t, after).Std() {
				t.Errorf("changed to %s: the next step is due at %s", after, next)
			}
		}
		settle(2 * time.Minute)
		put("0s", "2m", "1h")
		settle(2 * time.Second)
		put()
		settle(2 * time.Second)
		if next := h.only().Policy.Next; next != 0 {
			t.Errorf("deleted: the next step is due at %s", next)
		}
		put("0s", "2m", "25m")
		settle(time.Hour)
		if got, want := strings.Join(h.told, ", "), " Liz d1, 2m Liz d1, 25m Liz d1"; got != want {
			t.Errorf("told: %s; want %s", got, want)
		}
	})
}

// TestMaintenanceWhileNobodyKeeps: the time of a policy stands still from the begin to the end of a
// window, whether a keeper runs then or not.
func TestMaintenanceWhileNobodyKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, memstore.New(), clock)
		h.silentAfter("24h")
		settle(5 * time.Second)
		h.start = clock()
		h.known = &people.Known{
			Policies: []people.Policy{{Name: "p", Steps: []people.PolicyStep{
				{After: parsed(t, "5m"), To: "person Liz"},
				{After: parsed(t, "15m"), To: "person Sara"},
			}}},
			Maintenance: []people.Maintenance{{
				Name: "oil", Prefix: "d", Start: h.start.Add(parsed(t, "10m")),
				Length: parsed(t, "30m"),
			}},
		}
		stop := h.keep("a")
		h.is("WARNING1")
		settle(6 * time.Minute)
		stop()
		settle(12 * time.Minute) // the window begins
		stop = h.keep("a")
		settle(12 * time.Minute)
		stop()
		settle(12 * time.Minute) // it ends
		defer h.keep("a")()
		settle(time.Hour)
		if got, want := strings.Join(h.told, ", "), "5m Liz d1, 45m Sara d1"; got != want {
			t.Errorf("told: %s; want %s", got, want)
		}
	})
}

// TestExpired: an incident is escalated that lasts for longer than its first entry is kept.
func TestExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, memstore.New(), clock)
		h.silentAfter("24h")
		defer h.keep("a")()
		settle(5 * time.Second)
		h.is("WARNING1")
		settle(10 * time.Minute)
		h.is("WARNING1")
		h.kept.Store(int64(clock().Add(-parsed(t, "5m"))))
		settle(5 * time.Minute)
		if d, err := h.store.Device(t.Context(), h.tenant, "d1"); d.EscalatedTo != "Sara" {
			t.Errorf("it is escalated to %q, %v", d.EscalatedTo, err)
		}
	})
}

// slow takes a second for changes, and notes when it is asked for them.
type slow struct {
	andon.Store
	mu    sync.Mutex
	asked []time.Time
}

func (s *slow) Changes(
	ctx context.Context, t andon.TenantID, after andon.Position,
) iter.Seq2[andon.Change, error] {
	s.mu.Lock()
	s.asked = append(s.asked, time.Now())
	s.mu.Unlock()
	<-time.After(time.Second)
	return s.Store.Changes(ctx, t, after)
}

// TestRests: while requests want the processors, changes are asked for after a rest.
func TestRests(t *testing.T) {
	for busy, want := range map[bool]time.Duration{false: time.Second, true: 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := &slow{Store: memstore.New()}
			h := newHouse(t, s, clock)
			h.busy = func() bool { return busy }
			defer h.keep("a")()
			settle(5 * time.Second)
			h.is("WARNING1")
			settle(20 * time.Second)
			if in := h.only(); in.State != "WARNING1" {
				t.Errorf("it is in %s", in.State)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			took := []time.Duration{}
			for i := range s.asked[1:] {
				took = append(took, s.asked[i+1].Sub(s.asked[i]))
			}
			if !slices.Contains(took, want) {
				t.Errorf("busy %t: changes are asked for after %s", busy, took)
			}
			if busy && slices.Contains(took[2:], time.Second) { // after it has begun
				t.Errorf("it does not rest: %s", took)
			}
		})
	}
}

// silentAfter sets how long devices may send nothing.
func (h *house) silentAfter(text string) {
	h.Helper()
	tenant, err := h.store.Tenant(h.Context(), h.tenant)
	if err == nil {
		tenant.SilentAfter = parsed(h.T, text)
		_, err = h.store.PutTenant(h.Context(), tenant)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// TestFull: while nothing can be stored that is said once of each part, and a step that is late
// counts once it is done.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var faults wrap.Faults
		log := &strings.Builder{}
		h := newHouse(t, wrap.Around(memstore.New(), faults.Hook), clock)
		h.log = slog.NewTextHandler(log, nil)
		h.silentAfter("24h")
		stop := h.keep("a")
		settle(5 * time.Second)
		h.is("WARNING1")
		faults.Set(wrap.Fail(andon.Errorf(andon.Full, "no space")), "PutRecord")
		settle(10 * time.Minute)
		if n := h.keeper.Late.Load(); n != 0 {
			t.Errorf("%d steps are late that are not done", n)
		}
		h.is("WARNING2")
		settle(time.Minute)
		if lag := h.keeper.Lag().Seconds(); lag < 50 || lag > 70 {
			t.Errorf("a change that waited for a minute is a lag of %g s", lag)
		}
		faults.Set(nil, "PutRecord")
		settle(4 * time.Minute)
		if lag := h.keeper.Lag(); lag != 0 {
			t.Errorf("after all was taken in the lag is %s", lag)
		}
		if n := h.keeper.Late.Load(); n != 1 {
			t.Errorf("%d steps were late", n)
		}
		stop()
		begins := strings.Count(log.String(), "tried again and again")
		ends := strings.Count(log.String(), "kept again")
		if begins != 2 || ends != 2 {
			t.Errorf("the log is\n%s", log)
		}
	})
}
