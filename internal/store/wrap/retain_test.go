package wrap_test

import (
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
	"github.com/andonhq/andon/storetest"
)

// TestTwice: the wrapper on a wrapped store is still a store. What it does is checked with every
// store, since storecheck runs all of them behind it.
func TestTwice(t *testing.T) {
	storetest.Run(t, func(*testing.T) andon.Store {
		never := func() andon.Time { return 0 }
		return wrap.Retain(memstore.New(), never)
	})
}

// TestHiddenStaysHidden: what expired by a time that was believed does not come back once the clock
// is set back; what expired by one that was not believed does.
func TestHiddenStaysHidden(t *testing.T) {
	const entered = 1_000 * andon.Time(86_400_000_000)
	const hour = andon.Time(3_600_000_000)
	ctx, id := t.Context(), andon.DefaultTenant
	for _, trusted := range []bool{true, false} {
		now, believed := entered, entered
		s := wrap.RetainBelieved(memstore.New(),
			func() andon.Time { return now }, func() andon.Time { return believed })
		record, err := s.Tenant(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		record.Events = andon.Retention(hour)
		if _, err := s.PutTenant(ctx, record); err != nil {
			t.Fatal(err)
		}
		event := andon.Event{Device: "d", Time: entered, State: "WARNING1"}
		if err := s.Append(ctx, id, now, []andon.Event{event}); err != nil {
			t.Fatal(err)
		}
		look := func() error {
			_, err := s.Entry(ctx, id, event.Device, event.Time, event.State)
			return err
		}
		if err := look(); err != nil {
			t.Errorf("at first: %v", err)
		}
		now = entered + 2*hour
		if trusted {
			believed = now
		}
		if err := look(); andon.KindOf(err) != andon.NotFound {
			t.Errorf("once it has expired: %v", err)
		}
		now, believed = entered, entered
		if err := look(); (err == nil) == trusted {
			t.Errorf("set back from a time that is believed (%v): %v", trusted, err)
		}
	}
}
