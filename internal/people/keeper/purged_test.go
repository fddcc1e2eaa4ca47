package keeper_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/memstore"
)

// TestRetiredAndPurged: nothing is left of the incidents of a device that was retired, and purged
// before a keeper took that in. The feed does not say that it was purged. Those of one that was
// only retired stay.
func TestRetiredAndPurged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, memstore.New(), clock)
		h.silentAfter("1h")
		stop := h.keep("a")
		settle(5 * time.Second)
		h.is("WARNING1")
		e := andon.Event{Device: "d2", Time: clock(), State: "WARNING1"}
		ok(t, h.store.Append(t.Context(), "default", clock(), []andon.Event{e}))
		settle(2 * time.Hour)
		stop()
		for _, device := range []andon.DeviceID{"d1", "d2"} {
			_, err := h.store.Retire(t.Context(), "default", device, clock())
			ok(t, err)
		}
		ok(t, h.store.Purge(t.Context(), "default", "d1"))
		ok(t, h.incidents.Forget(t.Context(), "default", "d1", andon.Position{}))
		defer h.keep("b")()
		settle(time.Minute)
		for kind, want := range map[andon.RecordKind]int{
			"incident": 0, "incident_closed": 2, "incident_of": 2, "incident_ended": 1,
		} {
			q := andon.RecordQuery{Limit: math.MaxInt}
			all, err := seq.Collect(h.store.Records(t.Context(), "default", kind, q))
			if err != nil || len(all) != want {
				t.Errorf("%s: %v, %v; want %d", kind, all, err, want)
			}
		}
	})
}

// TestReturnedAndPurged: an incident that has returned to normal goes with its device, also where
// that was retired before, so that the feed does not say that it was purged.
func TestReturnedAndPurged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, memstore.New(), clock)
		h.silentAfter("24h")
		defer h.keep("a")()
		settle(5 * time.Second)
		h.is("WARNING1")
		h.is("NORMAL")
		_, err := h.store.Retire(t.Context(), "default", "d1", clock())
		ok(t, err)
		settle(time.Minute)
		ok(t, h.store.Purge(t.Context(), "default", "d1"))
		ok(t, h.incidents.Forget(t.Context(), "default", "d1", andon.Position{}))
		q := andon.RecordQuery{Limit: math.MaxInt}
		all, err := seq.Collect(h.store.Records(t.Context(), "default", "incident", q))
		if err != nil || len(all) != 0 {
			t.Errorf("there are %v, %v", all, err)
		}
	})
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
