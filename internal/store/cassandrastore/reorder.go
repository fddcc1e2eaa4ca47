package cassandrastore

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// The severity of a state that has entries may change. The log and the newest entry of each state
// have no severity; these follow from severities:
//
//   - where the present run and incident begin: values of a later generation win;
//   - the rows of designs with one row a device, which each generation has of its own
//     (designs.Place);
//   - which of two states at one instant is written for lists by state, and counted.
//
// A change begins the next generation (shared.Tenancy). Once all processes follow, and what was
// written before has landed, all devices are written again.

// refold writes what all devices of a tenant show in the present generation.
func (s *Store) refold(ctx context.Context, is *shared.Tenant) error {
	t, err := s.tenant(ctx, is.Record.ID)
	if err != nil {
		return err
	}
	if err := s.allFollow(ctx, t); err != nil {
		return err
	}
	quietly := func(int) {}
	if err := s.eachDevice(ctx, t, s.reorderDevice, quietly); err != nil {
		return err
	}
	return s.eachDevice(ctx, t, s.dropFormer, quietly)
}

// allFollow waits until every process uses a generation, and what was written before has landed.
func (s *Store) allFollow(ctx context.Context, t *rows.Tenant) error {
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	release, err := s.hold(ctx, t.Record.ID)
	if err != nil {
		return err
	}
	release()
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
