package bench

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

// Store makes a target of an open store, in a tenant that it makes. end deletes the tenant, unless
// it is to be kept; the store stays open.
func Store(
	ctx context.Context, name string, s andon.Store, tenant andon.TenantID, keep bool,
) (t Target, end func() error, err error) {
	if _, err := s.PutTenant(ctx, andon.NewTenant(tenant)); err != nil {
		return t, nil, fmt.Errorf("make the tenant of the run: %w", err)
	}
	end = func() error {
		if keep {
			return nil
		}
		if err := s.DeleteTenant(context.WithoutCancel(ctx), tenant); err != nil {
			return fmt.Errorf("delete tenant %s: %w", tenant, err)
		}
		return nil
	}
	// It does what the intake does with events that it has admitted, and repeats it where the store
	// is busy, as a client does.
	t = Direct(name, func(ctx context.Context, events []andon.Event) error {
		for {
			err := s.Append(ctx, tenant, base, events)
			if andon.KindOf(err) != andon.Busy {
				return err
			}
		}
	})
	t.Filled = func(ctx context.Context, want map[andon.State]int) error {
		return awaitCounts(ctx, s, tenant, want)
	}
	t.Usage = func(ctx context.Context, writes bool) (u Usage, err error) {
		if writes { // to know its size, a store may have to flush
			u.Kept, err = s.Size(ctx)
		}
		if andon.KindOf(err) == andon.Unsupported {
			err = nil
		}
		return u, err
	}
	return t, end, nil
}

// Direct makes a target of what writes events in this process.
func Direct(name string, write func(ctx context.Context, events []andon.Event) error) Target {
	return Target{Name: name, Dial: func(context.Context) (Conn, error) {
		return direct(write), nil
	}}
}

// direct implements Conn.
type direct func(ctx context.Context, events []andon.Event) error

// Append implements Conn.
func (d direct) Append(ctx context.Context, events []andon.Event, begin func()) error {
	begin()
	return d(ctx, events)
}

// Close implements Conn.
func (direct) Close() error { return nil }

// awaitCounts waits until a store counts what was written to it. If it never does, there is nothing
// worth measuring.
func awaitCounts(
	ctx context.Context, s andon.Store, tenant andon.TenantID, want map[andon.State]int,
) error {
	const timeout, pause = 2 * time.Minute, 200 * time.Millisecond
	for attempts := int(timeout / pause); ; attempts-- {
		counts, err := s.Counts(ctx, tenant, 0)
		if err != nil {
			return err
		}
		missing := maps.Clone(want)
		for _, n := range counts {
			missing[n.State] -= n.Count
		}
		maps.DeleteFunc(missing, func(_ andon.State, n int) bool { return n == 0 })
		if len(missing) == 0 {
			return nil
		}
		if s.Capabilities().Immediate || attempts == 0 {
			return andon.Errorf(andon.Internal,
				"the store is wrong: it counts too few devices in states: %v", missing)
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}
