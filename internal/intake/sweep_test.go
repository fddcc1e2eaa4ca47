package intake_test

import (
	"context"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// slowExpiry is a store whose engine deletes in its own time.
type slowExpiry struct {
	andon.Store
	swept, floor andon.Horizon // of the last Sweep, and in the record of the tenant by then
}

func (s *slowExpiry) Capabilities() andon.Capabilities {
	c := s.Store.Capabilities()
	c.SlowExpiry = true
	return c
}

func (s *slowExpiry) Sweep(
	ctx context.Context, id andon.TenantID, h andon.Horizon,
) (int64, error) {
	record, err := s.Tenant(ctx, id)
	s.swept, s.floor = h, record.Floor
	return 7, err
}

// TestSweepAtOnce: where the engine deletes in its own time, a sweep deletes all that is older than
// the horizon, each time that it is asked for; the horizon is in the record of the tenant by then.
func TestSweepAtOnce(t *testing.T) {
	ctx, store := t.Context(), &slowExpiry{Store: memstore.New()}
	now := andon.TimeOf(time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC))
	in := intake.New(store, intake.Options{Now: func() andon.Time { return now }})
	r := andon.Reading{Device: "d", Time: now - 1, Metrics: andon.Metrics{{Name: "a", Value: 1}}}
	if err := store.AppendReadings(ctx, andon.DefaultTenant, now, []andon.Reading{r}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		due, err := in.Sweep(ctx, true)
		if err != nil || len(due) != 1 || due[0].Horizon.Readings == 0 ||
			store.swept != (andon.Horizon{}) {
			t.Errorf("a dry run says %+v, %v, and swept before %+v", due, err,
				store.swept)
		}
		swept, err := in.Sweep(ctx, false)
		if err != nil || len(swept) != 1 || swept[0].Deleted != 7 {
			t.Errorf("a sweep says %+v, %v, want 7 deleted", swept, err)
		}
		if want := due[0].Horizon; store.swept != want || store.floor != want {
			t.Errorf("it swept before %+v, with the floor %+v, want %+v",
				store.swept, store.floor, want)
		}
		now, store.swept = now+3_600_000_000, andon.Horizon{}
	}
}

// TestFailedSweepIsDoneAgain: a sweep that failed, or during which the process was killed, is done
// by the next one, also on the same day.
func TestFailedSweepIsDoneAgain(t *testing.T) {
	for _, killed := range []bool{false, true} {
		failedSweepIsDoneAgain(t, killed)
	}
}

func failedSweepIsDoneAgain(t *testing.T, killed bool) {
	t.Helper()
	ctx := t.Context()
	faults := &wrap.Faults{}
	memory := memstore.New()
	store := wrap.Around(memory, faults.Hook)
	now := andon.TimeOf(time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC))
	in := intake.New(store, intake.Options{Now: func() andon.Time { return now }})
	r := andon.Reading{
		Device: "d", Time: andon.MinTime, Metrics: andon.Metrics{{Name: "a", Value: 1}},
	}
	if err := store.AppendReadings(ctx, andon.DefaultTenant, now, []andon.Reading{r}); err != nil {
		t.Fatal(err)
	}
	left := func() int {
		all, err := seq.Collect(memory.DeviceReadings(ctx, andon.DefaultTenant, "d",
			andon.ReadingQuery{Limit: 9}))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	faults.Set(wrap.Fail(andon.Errorf(andon.Unavailable, "not now")), "Expire")
	if err := in.Expire(ctx); err == nil || left() != 1 {
		t.Fatalf("the first sweep: %v, %d readings are left", err, left())
	}
	faults.Set(nil, "Expire")
	if killed {
		in = intake.New(store, intake.Options{Now: func() andon.Time { return now }})
	}
	if err := in.Expire(ctx); err != nil || left() != 0 {
		t.Errorf("the second sweep: %v, %d readings are left", err, left())
	}
}
