package keeper_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/memstore"
)

// newHouseAhead makes a house whose clock is ahead by some microseconds.
func newHouseAhead(t *testing.T) (h *house, ahead *atomic.Int64) {
	ahead = new(atomic.Int64)
	h = newHouse(t, memstore.New(), func() andon.Time {
		return clock() + andon.Time(ahead.Load())
	})
	h.passed = func() time.Duration { return clock().Sub(0).Std() }
	return h, ahead
}

// TestStepsAfterTheClockIsSetBack: steps come when they would have, if the clock was ahead as the
// incident opened, also where no keeper saw that it was set back.
func TestStepsAfterTheClockIsSetBack(t *testing.T) {
	for _, unseen := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { stepsAfterTheClockIsSetBack(t, unseen) })
	}
}

func stepsAfterTheClockIsSetBack(t *testing.T, unseen bool) {
	h, ahead := newHouseAhead(t)
	h.silentAfter("24h")
	stop := h.keep("a")
	defer func() { stop() }()
	settle(5 * time.Second)
	h.start = clock()
	ahead.Store(3_600_000_000)
	e := andon.Event{Device: "d1", Time: clock(), State: "WARNING1"}
	if err := h.store.Append(t.Context(), "default", h.now(), []andon.Event{e}); err != nil {
		t.Fatal(err)
	}
	settle(2 * time.Second)
	if unseen {
		stop()
	}
	if ahead.Store(0); unseen {
		stop = h.keep("b")
	}
	settle(20 * time.Minute)
	if got, want := strings.Join(h.told, ", "), "5m Liz d1, 15m Sara d1"; got != want {
		t.Errorf("told: %s; want %s", got, want)
	}
}

// TestClockJumps: steps and silences come when they would have, once a clock has jumped as that of
// a machine that slept.
func TestClockJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, ahead := newHouseAhead(t)
		h.silentAfter("30m")
		defer h.keep("a")()
		settle(5 * time.Second)
		ahead.Store(8 * 3_600_000_000)
		h.start = h.now()
		e := andon.Event{Device: "d1", Time: h.now(), State: "WARNING1"}
		if err := h.store.Append(t.Context(), "default", h.now(), []andon.Event{e}); err != nil {
			t.Fatal(err)
		}
		settle(31 * time.Minute)
		h.mu.Lock()
		defer h.mu.Unlock()
		if got, want := strings.Join(h.told, ", "), "5m Liz d1, 15m Sara d1"; got != want {
			t.Errorf("told: %s; want %s", got, want)
		}
		silent, err := seq.Collect(h.incidents.EachOpen(t.Context(), "default", people.SilentKind))
		if err != nil || len(silent) != 1 || silent[0].Opened > h.now() {
			t.Errorf("silent are %+v, %v", silent, err)
		}
	})
}

// TestExpiryAfterTheClockIsSetBack: closed incidents that have expired are deleted, also where they
// were looked for while the clock was ahead.
func TestExpiryAfterTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, ahead := newHouseAhead(t)
		h.silentAfter("24h")
		ahead.Store(240 * 3_600_000_000)
		defer h.keep("a")()
		settle(5 * time.Second)
		ahead.Store(0)
		h.is("WARNING1")
		h.act(people.Acknowledge)
		id := h.only().ID
		h.is("NORMAL")
		tenant, err := h.store.Tenant(t.Context(), "default")
		if err == nil {
			tenant.Floor.Events = clock()
			_, err = h.store.PutTenant(t.Context(), tenant)
		}
		if err != nil {
			t.Fatal(err)
		}
		settle(2 * time.Hour)
		is, err := h.incidents.Get(t.Context(), "default", id)
		if andon.KindOf(err) != andon.NotFound {
			t.Errorf("there is %+v, %v", is, err)
		}
	})
}

// TestSilenceAfterTheClockJumps: while the clock jumped nothing was heard, as if no process had
// been there, so a device has its time to report.
func TestSilenceAfterTheClockJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, ahead := newHouseAhead(t)
		h.silentAfter("30m")
		defer h.keep("a")()
		settle(40 * time.Minute)
		h.is("NORMAL")
		ahead.Store(8 * 3_600_000_000)
		for after, want := range []int{0, 1} {
			settle(20 * time.Minute)
			all, err := seq.Collect(h.incidents.EachOpen(t.Context(), "default", people.SilentKind))
			if err != nil || len(all) != want {
				t.Errorf("%d: silent are %+v, %v", after, all, err)
			}
		}
	})
}
