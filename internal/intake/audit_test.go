package intake_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
)

// TestAuditWithoutTransport: who decides something has a record of it, however that came in; what
// the program does by itself has none.
func TestAuditWithoutTransport(t *testing.T) {
	var told []intake.Change
	at := now
	in := intake.New(memstore.New(), intake.Options{
		Now:   func() andon.Time { return at },
		Audit: func(_ context.Context, c intake.Change) { told = append(told, c) },
	})
	post(t, in, andon.Event{Device: "d", State: "NORMAL"})
	by := intake.Caller{Who: "cron", RequestID: "7"}
	liz := []andon.Assignment{{Device: "d", Operator: "Liz"}}
	ctx := context.WithValue(t.Context(), intake.CallerKey{}, by)
	kept, err := in.Assign(ctx, andon.DefaultTenant, liz)
	if err != nil {
		t.Fatal(err)
	}
	week := func(t *andon.Tenant) error {
		t.Events = andon.Retention(andon.DurationOf(7 * 24 * time.Hour))
		return nil
	}
	if _, _, err := in.PutTenant(ctx, andon.DefaultTenant, week); err != nil {
		t.Fatal(err)
	}
	at = at.Add(andon.DurationOf(30 * 24 * time.Hour))
	if err := in.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []intake.Change{{
		What: "assign", Outcome: "done", By: by, Tenant: andon.DefaultTenant, Device: "d",
		Details: []intake.Detail{
			{Name: "after", Value: "Liz"}, {Name: "from", Value: kept[0].From.String()},
		},
	}, {
		What: "change tenant", Outcome: "done", By: by, Tenant: andon.DefaultTenant,
		Details: []intake.Detail{
			{Name: "before", Value: []intake.Detail{{Name: "events", Value: "forever"}}},
			{Name: "after", Value: []intake.Detail{{Name: "events", Value: "7d"}}},
		},
	}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

// TestMade: what waits for new tenants is woken by one that is made, and not by one that changes.
func TestMade(t *testing.T) {
	made := make(chan struct{}, 1)
	in := intake.New(memstore.New(), intake.Options{
		Now: func() andon.Time { return now }, Made: made,
	})
	for _, want := range []int{1, 0} {
		keep := func(*andon.Tenant) error { return nil }
		if _, _, err := in.PutTenant(t.Context(), "new", keep); err != nil {
			t.Fatal(err)
		}
		if len(made) != want {
			t.Errorf("it is woken %d times, want %d", len(made), want)
		}
		if want > 0 {
			<-made
		}
	}
}
