package shared

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/tenants"
)

// A change of the severity of a state that has entries begins the next generation of the tenant.
// From then on every process writes by it, and computes what is stored in a former one. In the
// background one of them writes all devices again (Refold); then the change is complete. Two that
// do so at once do the same.

// changeStates begins the next generation if the severity of a state that has entries changes. What
// it holds up goes on after end.
func (t *Tenancy) changeStates(ctx context.Context, was, is *Tenant) (end func(), err error) {
	end = func() {}
	from, to := was.Record.States, is.Record.States
	if !differ(from, to) {
		return end, nil
	}
	if t.Hold != nil {
		if end, err = t.Hold(ctx, was.Record.ID); err != nil {
			return nil, err
		}
	}
	seen, err := t.Seen(ctx, was.Key)
	if err != nil {
		end()
		return nil, err
	}
	if _, changes := from.Reorders(to, seen); changes {
		is.beginGeneration(from)
	}
	return end, nil
}

// differ reports whether any state has another severity.
func differ(from, to *andon.StateSet) bool {
	var all []andon.State
	for _, d := range slices.Concat(from.Defs(), to.Defs()) {
		all = append(all, d.Name)
	}
	_, changes := from.Reorders(to, all)
	return changes
}

// beginGeneration begins the generation after one with other severities.
func (is *Tenant) beginGeneration(from *andon.StateSet) {
	former := tenants.Severities{Generation: is.Generation, States: from.Defs()}
	is.Generation, is.Former = is.Generation+1, append(slices.Clip(is.Former), former)
	is.Record.Reordering = true
}

// reorderSince begins the next generation after all, if a state whose severity has changed got its
// first entry meanwhile, which may have been folded by the severities before.
func (t *Tenancy) reorderSince(
	ctx context.Context, was *Tenant, record andon.Tenant,
) (andon.Tenant, error) {
	from := was.Record.States
	if !differ(from, record.States) {
		return record, nil
	}
	seen, err := t.Seen(ctx, was.Key)
	if _, changes := from.Reorders(record.States, seen); err != nil || !changes {
		return record, err
	}
	later, done, err := t.Amend(ctx, record.ID, func(now *Tenant) bool {
		if now.Key != was.Key || now.Generation != was.Generation {
			return false // another call did
		}
		now.beginGeneration(from)
		return true
	})
	if done {
		record = later
	}
	return record, err
}

// reorderTimeout is how long a caller of Reorder waits.
const reorderTimeout = 5 * time.Second

// Reorder implements andon.Tenants. The work is done by the job Reordering, and continues if it
// takes longer than a caller would wait.
func (t *Tenancy) Reorder(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	sleep.Wake(t.Reordered)
	const look = 20 * time.Millisecond
	for left := reorderTimeout; ; left -= look {
		is, err := t.Known(ctx, id)
		if err != nil {
			return andon.Tenant{}, err
		}
		if !is.Record.Reordering || left <= 0 {
			return is.Record, nil
		}
		if err := sleep.For(ctx, look); err != nil {
			return andon.Tenant{}, err
		}
	}
}

// Reordering is the job of putting devices in the order of changed severities. At times it looks
// for what a process left when it ended.
func (t *Tenancy) Reordering(every time.Duration, warn func(text string, args ...any)) Job {
	return Job{
		Do: t.reorderAll, Every: every, Retry: time.Second, Wake: t.Reordered, Warn: warn,
		Failed: "devices can't be put in the order of changed severities yet",
	}
}

func (t *Tenancy) reorderAll(ctx context.Context) error {
	all, err := t.Tenants(ctx)
	for i := range all {
		if !all[i].Reordering {
			continue
		}
		failed := t.reorder(ctx, all[i].ID)
		err = errors.Join(err, andon.Ignore(failed, andon.NotFound)) // it was deleted meanwhile
	}
	return err
}

func (t *Tenancy) reorder(ctx context.Context, id andon.TenantID) error {
	for {
		t.Recent.Forget(id)
		now, err := t.Known(ctx, id)
		if err != nil || !now.Record.Reordering {
			return err
		}
		if err := t.Refold(ctx, now); err != nil {
			return err
		}
		if done, err := t.endReorder(ctx, now); done || err != nil {
			return err
		}
	}
}

// endReorder stores that all devices of a tenant are in the order of its severities. It is not done
// where those were changed once more since.
func (t *Tenancy) endReorder(ctx context.Context, was *Tenant) (done bool, err error) {
	_, done, err = t.Amend(ctx, was.Record.ID, func(now *Tenant) bool {
		if now.Generation != was.Generation || !now.Record.Reordering {
			return false
		}
		now.Former, now.Record.Reordering = nil, false
		return true
	})
	return done, err
}
