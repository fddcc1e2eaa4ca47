package cassandrastore

import (
	"context"
	"slices"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
	doc "github.com/andonhq/andon/internal/store/tenants"
)

// The severity of a state that has entries may change. The log and the newest entry of each state
// have no severity; these follow from severities:
//
//   - where the present run and incident begin: values of a later generation win;
//   - the rows of designs with one row a device, which each generation has of its own
//     (designs.Place);
//   - which of two states at one instant is written for lists by state, and counted.
//
// A change begins the next generation. From then on every append writes by it, and readers compute
// what is stored in a former one. Once all processes follow, and what was written before has
// landed, one of them writes all devices again; then the change is complete. Two that do so at once
// do the same.

// follow begins the next generation if the new states of a tenant change the severity of a state
// that has entries.
func follow(was, is *shared.Tenant, seen []andon.State) {
	if _, changes := was.Record.States.Reorders(is.Record.States, seen); changes {
		former := doc.Severities{Generation: was.Generation, States: was.Record.States.Defs()}
		is.Generation, is.Former = was.Generation+1, append(slices.Clip(was.Former), former)
	}
	is.Record.Reordering = len(is.Former) > 0
}

// Reorder implements andon.Tenants. The work is done in the background, and continues if it takes
// longer than a caller would wait.
func (s *Store) Reorder(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	sleep.Wake(s.reordered)
	const look = 20 * time.Millisecond
	for left := reorderTimeout; ; left -= look {
		t, err := s.tenant(ctx, id)
		if err != nil {
			return andon.Tenant{}, err
		}
		if !t.Record.Reordering || left <= 0 {
			return t.Record, nil
		}
		if err := sleep.For(ctx, look); err != nil {
			return andon.Tenant{}, err
		}
	}
}

// reorderTimeout is how long a caller waits for it.
const reorderTimeout = 5 * time.Second

// reorderEvery is how often a process looks for changes that others left when they ended.
const reorderEvery = time.Minute

func (s *Store) reorderAll(ctx context.Context) error {
	return s.Each(ctx, func(t *shared.Tenant) error {
		if !t.Record.Reordering {
			return nil
		}
		return s.reorderTenant(ctx, t.Record.ID)
	})
}

func (s *Store) reorderTenant(ctx context.Context, id andon.TenantID) error {
	s.Recent.Forget(id)
	t, err := s.tenant(ctx, id)
	if err != nil || len(t.Former) == 0 {
		return err
	}
	if err := s.allFollow(ctx, t); err != nil {
		return err
	}
	quietly := func(int) {}
	if err := s.eachDevice(ctx, t, s.reorderDevice, quietly); err != nil {
		return err
	}
	if err := s.eachDevice(ctx, t, s.dropFormer, quietly); err != nil {
		return err
	}
	_, done, err := s.EndReorder(ctx, t.Tenant)
	if done || err != nil {
		return err
	}
	return s.reorderTenant(ctx, id) // it was changed once more
}

// allFollow waits until every process uses a generation, and what was written before has landed.
func (s *Store) allFollow(ctx context.Context, t *rows.Tenant) error {
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	appends := s.tenants.appendsOf(t.Record.ID)
	if err := appends.Lock(ctx); err != nil {
		return err
	}
	appends.Unlock()
	if s.processes.Alone() == 0 {
		_ = sleep.For(ctx, s.options.landedAfter())
	}
	return ctx.Err()
}

// reorderDevice writes what a device shows in the present generation.
func (s *Store) reorderDevice(ctx context.Context, t *rows.Tenant, device andon.DeviceID) error {
	return s.withDevice(ctx, t, device, func(t *rows.Tenant, v *view) error {
		n := v.Newest(t.Record.States)
		if n == nil {
			return nil
		}
		s.counts.Raise(t.Key, v.Generation(t.Gen()), device, n.Key(t.Record.States),
			v.Retired, v.Received)
		alone := s.processes.Alone() != 0
		run, incident, err := s.putRight(ctx, t, device, v, &merge.Review{
			Quiet: alone || s.quiet(v),
		}, nil)
		if run.First != 0 && !run.Final {
			s.reviews.Add(merge.DueReview{
				Tenant: t.Record.ID, Device: device, Due: s.now().Add(s.options.Settle),
				Review: merge.Review{Run: run.Base, Incident: incident.Base, Gen: run.Gen},
			})
		}
		if err != nil {
			return err
		}
		return s.changedBy(ctx, t, device, andon.ByReorder, andon.EntryRef{})
	})
}

// dropFormer deletes the index rows of former generations. No process writes them any more.
func (s *Store) dropFormer(ctx context.Context, t *rows.Tenant, device andon.DeviceID) error {
	v, err := s.readPartition(ctx, t.Key, device, false)
	if err != nil {
		return err
	}
	var all []cql.Mutation
	p := designs.Place{Tenant: t.Key, Device: string(device), At: andon.MaxTime}
	for _, d := range s.working.Load().Writes {
		for _, f := range t.Former {
			if p.Gen = v.Generation(shared.Generation(f.Generation)); d.OneRow() {
				all = append(all, d.Retire(p, nil)...)
			}
		}
	}
	return s.db.Write(ctx, all...)
}
