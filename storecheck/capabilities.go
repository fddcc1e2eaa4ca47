package storecheck

import (
	"context"
	"errors"
	"fmt"

	"github.com/andonhq/andon"
)

// capabilityChecks: a store declares what it can't serve, and what it can't serve is an error.
func capabilityChecks() []Check {
	return []Check{
		{Name: "the store has a name", Section: "2.14", Run: hasName},
		{Name: "the store is ready", Section: "2.14", Run: isReady},
		check("2.14", "what is not declared is Unsupported, never empty", undeclared),
		check("2.14", "an ended context ends a call", endedContext),
	}
}

func hasName(_ context.Context, e *Env) error {
	if e.Store.Capabilities().Name == "" {
		return errors.New("Capabilities.Name is empty")
	}
	return nil
}

func isReady(ctx context.Context, e *Env) error { return e.Store.Ready(ctx) }

func undeclared(ctx context.Context, e *Env, id andon.TenantID) error {
	able := e.Store.Capabilities()
	for _, sort := range []andon.DeviceSort{andon.BySince, andon.BySeverity} {
		err := errOf(e.Store.Devices(ctx, id, andon.DeviceQuery{Sort: sort, Limit: 1}))
		if err := wantServed(able.SortDevices, err); err != nil {
			return fmt.Errorf("devices in order %d: %w", sort, err)
		}
	}
	_, _, err := e.Store.Withdraw(ctx, id, andon.Withdrawal{Device: "d1", Time: 1, State: "A"})
	if err := wantThere(able.Withdraw, err); err != nil {
		return fmt.Errorf("withdraw an entry: %w", err)
	}
	if err := wantThere(able.Purge, e.Store.Purge(ctx, id, "d1")); err != nil {
		return fmt.Errorf("purge a device: %w", err)
	}
	err = errOf(e.Store.MetricReadings(ctx, id, andon.MetricQuery{Metric: "a", Limit: 1}))
	if err := wantServed(able.MetricReadings, err); err != nil {
		return fmt.Errorf("metric across devices: %w", err)
	}
	return nil
}

// wantThere is wantServed for a call about what is not there.
func wantThere(able bool, err error) error {
	if able {
		return wantKind(andon.NotFound, err)
	}
	return wantKind(andon.Unsupported, err)
}

func wantServed(able bool, err error) error {
	if able {
		return err
	}
	return wantKind(andon.Unsupported, err)
}

func endedContext(ctx context.Context, e *Env, id andon.TenantID) error {
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := e.Store.Tenant(ended, id); err == nil {
		return fmt.Errorf("a tenant was read")
	}
	for _, err := range e.Store.DeviceEvents(ended, id, "d1", andon.EventQuery{Limit: 1}) {
		if err != nil {
			return nil
		}
	}
	return fmt.Errorf("entries were read to an end without an error")
}
