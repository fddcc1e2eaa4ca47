package app

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
)

// TestSweep: the floor of a tenant follows the clock by whole days, at the start and once in each
// period.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := func() andon.Time { return andon.TimeOf(time.Now()) }
		a := New(Options{Config: DefaultConfig(), Now: now, Log: slog.New(slog.DiscardHandler)})
		a.store = memstore.New()
		measure(t, a.store)
		a.intake = intake.New(a.store, intake.Options{Now: now})
		a.tasks.start(a.background()...)
		for range 3 {
			synctest.Wait()
			record, err := a.store.Tenant(t.Context(), andon.DefaultTenant)
			if err != nil {
				t.Fatal(err)
			}
			want := record.Horizon(now()).Readings
			if floor := record.Floor.Readings; floor.Day() != want.Day() || want == 0 {
				t.Errorf("the floor is %v, want the day of %v", floor, want)
			}
			time.Sleep(24 * a.Config.Expiry.Every)
		}
		a.tasks.stop()
		a.tasks.wait()
	})
}

// measure keeps a reading: a tenant that never had any has no floor.
func measure(t *testing.T, s andon.Store) {
	t.Helper()
	at := andon.TimeOf(time.Now())
	r := andon.Reading{Device: "d", Time: at, Metrics: andon.Metrics{{Name: "a", Value: 1}}}
	err := s.AppendReadings(t.Context(), andon.DefaultTenant, at, []andon.Reading{r})
	if err != nil {
		t.Fatal(err)
	}
}
