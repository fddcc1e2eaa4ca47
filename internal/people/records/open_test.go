package records_test

import (
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/store/memstore"
)

// TestOpenOnceTheClockWasSet: what another process has opened is seen though the clock is set back,
// and though it was set ahead while what is open was read.
func TestOpenOnceTheClockWasSet(t *testing.T) {
	const hour = andon.Duration(3_600_000_000)
	now := begin
	store, ahead := memstore.New(), andon.Duration(0)
	in := records.NewIncidents(store, func() andon.Time {
		now = now.Add(ahead)
		return now
	})
	other := records.NewIncidents(store, func() andon.Time { return now })
	open := func(want int) {
		t.Helper()
		if all, err := in.Open(t.Context(), "default"); err != nil || len(all) != want {
			t.Errorf("%d are open, %v; want %d", len(all), err, want)
		}
	}
	open(0)
	now = now.Add(-hour)
	opened(t, store, other, "d1")
	open(1)
	now, ahead = now.Add(hour), hour
	open(1)
	now, ahead = now.Add(hour), 0
	opened(t, store, other, "d2")
	open(2)
}
