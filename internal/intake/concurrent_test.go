package intake_test

import (
	"context"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
)

// slow is a store that does not end an append of one device before it is told to.
type slow struct {
	andon.Store
	entered, goOn chan struct{}
}

func (s slow) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	if events[0].Device == "slow" {
		close(s.entered)
		<-s.goOn
	}
	return s.Store.Append(ctx, id, received, events)
}

// TestSlowAppend: while a store is slow with one request, what people and other requests write goes
// on, of this tenant and others.
func TestSlowAppend(t *testing.T) {
	store := slow{memstore.New(), make(chan struct{}), make(chan struct{})}
	in := intake.New(store, intake.Options{Now: clock})
	const other = andon.TenantID("other")
	keep := func(*andon.Tenant) error { return nil }
	if _, _, err := in.PutTenant(t.Context(), other, keep); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	send := func(id andon.TenantID, device andon.DeviceID) error {
		_, err := in.Events(t.Context(), id, batch(andon.Event{
			Device: device, Time: now, State: "NORMAL",
		}))
		return err
	}
	go func() { ended <- send(andon.DefaultTenant, "slow") }()
	<-store.entered

	liz := []andon.Assignment{{Device: "d", Operator: "Liz", From: now}}
	for _, id := range []andon.TenantID{other, andon.DefaultTenant} {
		meanwhile(t, "assign", func() error {
			_, err := in.Assign(t.Context(), id, liz)
			return err
		})
		meanwhile(t, "append", func() error { return send(id, "d") })
		meanwhile(t, "restore", func() error {
			_, err := in.Restore(t.Context(), id, andon.History{Assignments: liz})
			return err
		})
		meanwhile(t, "put tenant", func() error {
			_, _, err := in.PutTenant(t.Context(), id, keep)
			return err
		})
	}
	meanwhile(t, "delete tenant", func() error { return in.DeleteTenant(t.Context(), other) })
	close(store.goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// meanwhile fails where something waits for the slow append.
func meanwhile(t *testing.T, what string, do func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%s waits for a slow append", what)
	}
}
