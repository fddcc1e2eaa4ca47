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
func needsWhole(t turn) error {
	demand(t.next("what is needed") == "whole", "what is needed is: whole")
	if !t.System.Capabilities().Whole {
		return errUndeclared
	}
	return nil
}

// refuses checks that a store which is not whole says so, and does not answer as if there were
// nothing.
func refuses(ctx context.Context, e *Env) error {
	store := e.undeclared
	if store.Capabilities().Whole {
		return nil
	}
	answers := readsOf(ctx, store, andon.DefaultTenant, e.Base)
	answers["Retire"] = second(store.Retire(ctx, andon.DefaultTenant, "d", math.MaxInt64))
	for method, err := range answers {
		if slices.Contains(ofTheLog(), method) {
			continue
		}
		if err := wantKind(andon.Unsupported, err); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
	}
	return nil
}
