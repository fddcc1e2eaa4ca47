package storecheck

import (
	"context"
	"errors"
	"fmt"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// capabilityChecks: a store declares what it can't serve, and what it can't serve is an error.
func capabilityChecks() []Check {
	return []Check{
		{Name: "the store has a name and is ready", Section: "2.14", Run: isReady},
		{Name: "what is not declared is refused", Section: "2.14", Run: refuses},
		check("2.11", "the assignments of a request whose client leaves are kept as declared",
			assignLeaving),
		check("2.14", "an ended context ends a call", endedContext),
		check("2.9", "a read is as fresh as it asks to be", consistency),
	}
}

// consistency asks for each write at once where the answer must be strong, and in time where it may
// be eventual. A store that does not choose gives both as it always does.
func consistency(ctx context.Context, e *Env, id andon.TenantID) error {
	can := e.Store.Capabilities()
	strong := andon.WithConsistency(ctx, andon.Strong)
	eventual := andon.WithConsistency(ctx, andon.Eventual)
	for n := range 8 {
		at := e.Now() - andon.Time(10-n)
		sent := []andon.Event{{Device: "d", Time: at, State: "NORMAL"}}
		require(e.Store.Append(ctx, id, e.Now(), sent))
		shows := func(ctx context.Context) error {
			d, err := e.Store.Device(ctx, id, "d")
			if err == nil && d.Time != at {
				err = fmt.Errorf("it shows the entry of %s, want that of %s", d.Time, at)
			}
			return err
		}
		if can.Consistency || can.Immediate {
			if err := shows(strong); err != nil {
				return fmt.Errorf("where it must be strong: %w", err)
			}
		}
		err := e.Eventually(ctx, func() error { return shows(eventual) })
		if err != nil {
			return err
		}
	}
	return nil
}

func isReady(ctx context.Context, e *Env) error {
	if e.Store.Capabilities().Name == "" {
		return errors.New("Capabilities.Name is empty")
	}
	return e.Store.Ready(ctx)
}

// assignLeaving assigns to many devices for a client that leaves, later each time, until one stays
// to the end. Assigning again brings what is missing.
func assignLeaving(ctx context.Context, e *Env, id andon.TenantID) error {
	const devices = 45 // more than any store has in one batch of several
	for looks := 1; ; looks *= 2 {
		var sent []andon.Assignment
		for n := range devices {
			device := andon.DeviceID(fmt.Sprintf("d%d-%d", looks, n))
			sent = append(sent, andon.Assignment{Device: device, Operator: "Liz"})
		}
		_, left := e.Store.Assign(Leaving(ctx, looks), id, e.Now(), sent)
		n, err := e.assigned(ctx, id, sent)
		if err == nil && e.Store.Capabilities().AtomicAssign && n != 0 && n != devices {
			err = fmt.Errorf("after %v, %d of %d are assigned", left, n, devices)
		}
		if err == nil {
			_, err = e.Store.Assign(ctx, id, e.Now(), sent)
		}
		if err == nil {
			n, err = e.assigned(ctx, id, sent)
		}
		if err == nil && n != devices {
			err = fmt.Errorf("assigned again, %d of %d are", n, devices)
		}
		if err != nil || left == nil {
			return err
		}
	}
}

// assigned returns how many of the devices are assigned, each of them once.
func (e *Env) assigned(
	ctx context.Context, id andon.TenantID, sent []andon.Assignment,
) (n int, err error) {
	for _, a := range sent {
		q := andon.PageQuery{Limit: 2}
		found, err := seq.Collect(e.Store.Assignments(ctx, id, a.Device, q))
		if err == nil && len(found) > 1 {
			err = fmt.Errorf("%q is assigned %d times", a.Device, len(found))
		}
		if err != nil {
			return n, err
		}
		n += len(found)
	}
	return n, nil
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
