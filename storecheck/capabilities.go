package storecheck

import (
	"context"
	"fmt"
	"iter"

	"github.com/andonhq/andon"
)

// capabilityChecks: a store declares what it can't serve, and what it can't serve is an error.
func capabilityChecks() []Check {
	return []Check{
		{"the store has a name", "2.14", func(_ context.Context, e *Env) error {
			if e.Store.Capabilities().Name == "" {
				return fmt.Errorf("Capabilities.Name is empty")
			}
			return nil
		}},
		{"the store is ready", "2.14", func(ctx context.Context, e *Env) error {
			return e.Store.Ready(ctx)
		}},
		{"what is not declared is Unsupported, never empty", "2.14", undeclared},
		{"an ended context ends a call", "2.14", endedContext},
	}
}

func undeclared(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	able := e.Store.Capabilities()
	ask := func(seq iter.Seq2[andon.Device, error]) error {
		_, err := collect(seq)
		return err
	}
	for _, sort := range []andon.DeviceSort{andon.BySince, andon.BySeverity} {
		err := ask(e.Store.Devices(ctx, id, andon.DeviceQuery{Sort: sort, Limit: 1}))
		if err := wantServed(able.SortDevices, err); err != nil {
			return fmt.Errorf("devices in order %d: %w", sort, err)
		}
	}
	_, err = collect(e.Store.MetricReadings(ctx, id, andon.MetricQuery{Metric: "a", Limit: 1}))
	if err := wantServed(able.MetricReadings, err); err != nil {
		return fmt.Errorf("metric across devices: %w", err)
	}
	return nil
}

func wantServed(able bool, err error) error {
	if able {
		return err
	}
	return wantKind(andon.Unsupported, err)
}

func endedContext(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := e.Store.Tenant(ended, id); err == nil {
		return fmt.Errorf("a tenant was read")
	}
	for range e.Store.DeviceEvents(ended, id, "d1", andon.EventQuery{Limit: 1}) {
		return nil // whatever it is, it is an error: there is no entry
	}
	return fmt.Errorf("entries were read to an end without an error")
}
