package intake

import (
	"context"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/store/memstore"
)

// gated looks at the gate of its intake whenever it is called.
type gated struct {
	andon.Store
	t      *testing.T
	in     *Intake
	called map[string]bool
}

// side expects the gate to be passed side by side: nothing that must be alone gets through.
func (g *gated) side(call string) {
	g.called[call] = true
	if g.in.gate.TryLock() {
		g.in.gate.Unlock()
		g.t.Errorf("%s: an assignment could come between", call)
	}
}

// alone expects that no append gets through.
func (g *gated) alone(call string) {
	g.called[call] = true
	if g.in.gate.TryRLock() {
		g.in.gate.RUnlock()
		g.t.Errorf("%s: an append could be under way", call)
	}
}

func (g *gated) Append(
	ctx context.Context, id andon.TenantID, at andon.Time, events []andon.Event,
) error {
	g.side("append")
	return g.Store.Append(ctx, id, at, events)
}

func (g *gated) Assign(
	ctx context.Context, id andon.TenantID, at andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	g.alone("assign")
	return g.Store.Assign(ctx, id, at, assignments)
}

func (g *gated) Restore(ctx context.Context, id andon.TenantID, h andon.History) error {
	g.alone("restore")
	return g.Store.Restore(ctx, id, h)
}

func (g *gated) PutTenant(ctx context.Context, t andon.Tenant) (andon.Tenant, error) {
	g.alone("put tenant")
	return g.Store.PutTenant(ctx, t)
}

// TestGate: an append holds the gate while it keeps, and what must be alone is.
func TestGate(t *testing.T) {
	const now = andon.Time(1_764_851_696_000_000)
	store := &gated{Store: memstore.New(), t: t, called: map[string]bool{}}
	store.in = New(store, Options{Now: func() andon.Time { return now }})
	ctx, id := t.Context(), andon.DefaultTenant
	event := andon.Event{Device: "d", Time: now, State: "WARNING1"}
	items := []ingest.Item[andon.Event]{{Value: event}}
	if _, err := store.in.Events(ctx, id, ingest.Batch[andon.Event]{Items: items}); err != nil {
		t.Fatal(err)
	}
	liz := []andon.Assignment{{Device: "d", Operator: "Liz"}}
	if _, err := store.in.Assign(ctx, id, liz); err != nil {
		t.Fatal(err)
	}
	liz[0].From = now
	if _, err := store.in.Restore(ctx, id, andon.History{Assignments: liz}); err != nil {
		t.Fatal(err)
	}
	same := func(*andon.Tenant) error { return nil }
	if _, _, err := store.in.PutTenant(ctx, id, same); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"append", "assign", "restore", "put tenant"} {
		if !store.called[call] {
			t.Errorf("the store was not told to %s", call)
		}
	}
}
