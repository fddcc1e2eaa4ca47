package storecheck

import (
	"context"
	"slices"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
)

// early is a store with a defect: it reads who is assigned, and an assignment comes in before it
// keeps the entries.
type early struct{ andon.Store }

func (s early) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	events = slices.Clone(events)
	for i := range events {
		e := &events[i]
		q := andon.PageQuery{Order: andon.Desc, After: e.Time + 1, Limit: 1}
		for a, err := range s.Assignments(ctx, id, e.Device, q) {
			if err != nil {
				return err
			}
			e.Operator = a.Operator
		}
		next := []andon.Assignment{{Device: e.Device, Operator: "not " + e.Operator}}
		if _, err := s.Assign(ctx, id, 0, next); err != nil {
			return err
		}
	}
	return s.Store.Append(ctx, id, received, events)
}

// careless is a store with another one: it returns to its caller what it found.
type careless struct{ andon.Store }

func (s careless) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	err := s.Store.Append(ctx, id, received, events)
	events[0].Operator = "Ann"
	return err
}

// piecemeal is a store that declares what it does not do: it keeps one assignment after the other.
type piecemeal struct{ andon.Store }

func (s piecemeal) Assign(
	ctx context.Context, id andon.TenantID, now andon.Time, assignments []andon.Assignment,
) (all []andon.Assignment, err error) {
	for part := range slices.Chunk(assignments, 1) {
		kept, err := s.Store.Assign(ctx, id, now, part)
		if err != nil {
			return nil, err
		}
		all = append(all, kept...)
	}
	return all, nil
}

func (s piecemeal) Capabilities() andon.Capabilities {
	assign := s.Store.Capabilities().AtomicAssign
	return andon.Capabilities{Whole: true, Immediate: true, AtomicAssign: assign}
}

// TestPartsOfAssign: a check finds a store that keeps a part of what it declares to keep as a
// whole.
func TestPartsOfAssign(t *testing.T) {
	check := check("2.11", "", assignLeaving)
	if r := RunOne(t.Context(), memstore.New(), check); r.Err != nil {
		t.Errorf("the reference: %v", r.Err)
	}
	if r := RunOne(t.Context(), piecemeal{memstore.New()}, check); r.Err == nil {
		t.Error("a store that keeps parts passes")
	}
	undeclared := piecemeal{modest{memstore.New()}}
	if r := RunOne(t.Context(), undeclared, check); r.Err != nil {
		t.Errorf("a store that declares nothing: %v", r.Err)
	}
}

// modest declares nothing that it need not.
type modest struct{ andon.Store }

func (modest) Capabilities() andon.Capabilities { return andon.Capabilities{Whole: true} }

// TestDefectsOfAppend: a check finds a store that resolves an operator at another moment than it
// keeps the entry, and one that changes what it was given.
func TestDefectsOfAppend(t *testing.T) {
	check := check("2.6", "", appendWhileAssigning)
	if r := RunOne(t.Context(), memstore.New(), check); r.Err != nil {
		t.Errorf("the reference: %v", r.Err)
	}
	for _, s := range []andon.Store{early{memstore.New()}, careless{memstore.New()}} {
		if r := RunOne(t.Context(), s, check); r.Err == nil {
			t.Errorf("%T passes", s)
		}
	}
}
