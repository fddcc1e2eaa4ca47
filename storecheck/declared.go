package storecheck

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/wrap"
)

// ofTheLog are the methods that every store serves. The rest is served where Capabilities.Whole is
// declared. Of the tenants, such a store may have the one that it was opened with.
func ofTheLog() []string {
	return []string{
		"Append", "Entry", "DeviceEvents", "OperatorEvents", "SupervisorEvents", "Escalate",
		"EscalatedEntries", "Device", "Retirements", "Tenants", "Tenant", "DeleteTenant",
		"AdmitStates", "Had", "Expire", "Ready",
	}
}

// asDeclared is a store that is asked only for what it declares to serve.
func asDeclared(store andon.Store) andon.Store {
	if store.Capabilities().Whole {
		return store
	}
	served := ofTheLog()
	return wrap.Around(store, func(_ context.Context, method string) (func(error), error) {
		if slices.Contains(served, method) {
			return nil, nil
		}
		return nil, errUndeclared
	})
}

// unlessWhole makes a refusal of what a store does not declare to serve one that is not asked.
func unlessWhole(store andon.Store, err error) error {
	if !store.Capabilities().Whole && andon.KindOf(err) == andon.Unsupported {
		return errUndeclared
	}
	return err
}

// needsWhole ends a scenario about what only a store has which is whole.
func needsWhole(w *words) action {
	demand(w.next("what is needed") == "whole", "what is needed is: whole")
	return func(t turn) error {
		if !t.System.Capabilities().Whole {
			return errUndeclared
		}
		return nil
	}
}

// refuses checks that a store which is not whole says so, and does not answer as if there were
// nothing.
func refuses(ctx context.Context, e *Env) error {
	store := e.undeclared
	if store.Capabilities().Whole {
		return nil
	}
	id := andon.DefaultTenant
	list := func(err error) error { return wantKind(andon.Unsupported, err) }
	_, counts := store.Counts(ctx, id, 0)
	_, latest := store.LatestReadings(ctx, id, []andon.DeviceID{"d"}, 0)
	_, retired := store.Retire(ctx, id, "d", math.MaxInt64)
	_, record := store.Record(ctx, id, e.kind, "r")
	for what, err := range map[string]error{
		"devices": list(firstOf(store.Devices(ctx, id, andon.DeviceQuery{Limit: 1}))),
		"names":   list(firstOf(store.Names(ctx, id, andon.NameQuery{Limit: 1}))),
		"readings": list(firstOf(
			store.DeviceReadings(ctx, id, "d", andon.ReadingQuery{Limit: 1}))),
		"assignments": list(firstOf(store.Assignments(ctx, id, "d", andon.PageQuery{Limit: 1}))),
		"counts":      list(counts), "newest readings": list(latest), "retiring": list(retired),
		"records": list(record),
	} {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// firstOf is the error that a list begins with.
func firstOf[T any](list func(func(T, error) bool)) (err error) {
	for _, err = range list {
		break
	}
	return err
}
