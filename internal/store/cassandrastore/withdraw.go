package cassandrastore

import (
	"context"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// A withdrawal is two rows. Every reader of the log finds the one next to the entry in the log.
// Every append, and every reader of what the device shows, finds the one in latest_by_device.
//
// The newest entry of a state is merged by the times of entries, so a withdrawn entry stays in the
// row of its state. A reader leaves it out, and takes what the row of the withdrawal has: the
// newest entry of that state before. An append that knows of the withdrawal writes there. An append
// of another process that does not know yet writes an older entry in vain, so until the review a
// reader also reads the log. Each withdrawal begins the next generation of the device
// (shared.Generation), and its review is done once the start of the present run is final in that
// generation.

// Withdraw implements andon.Corrections.
func (s *Store) Withdraw(
	ctx context.Context, id andon.TenantID, w andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	ctx, end := s.within(ctx)
	defer end()
	kept = w
	err = s.onDevice(ctx, id, w.Device, func(
		ctx context.Context, t *rows.Tenant, device andon.DeviceID, _ *taken,
	) error {
		e, err := s.rows.Entry(ctx, t, device, w.Time, w.State)
		if err == nil && e == nil {
			err = andon.NoEntry(w.Device, w.Time, w.State)
		}
		if err != nil {
			return err
		}
		kept.Device, kept.At = device, max(w.At, 1)
		if added = e.Withdrawn == nil; !added {
			kept = *e.Withdrawn
		}
		// A withdrawal that is stored is written again: an earlier attempt may have been
		// interrupted.
		return s.withdraw(ctx, t, &kept)
	})
	kept.Device = w.Device
	return kept, added, err
}

// withdraw writes a withdrawal, and then what the device shows without the entry.
func (s *Store) withdraw(ctx context.Context, t *rows.Tenant, w *andon.Withdrawal) error {
	was, err := s.readView(ctx, t, w.Device, false)
	if err != nil {
		return err
	}
	index := s.newIndexRows(t.Key, s.ttl(s.working.Load().Retention))
	shard := shared.ShardOf(w.Time, w.State, was.shards)
	index.Partition(rows.OfEvents, string(w.Device), w.Time.Day(), shared.ShardsOf(was.shards),
		was.labelOf(w.State), w.Time)
	stamp := s.stamp()
	cause, err := s.markedFirst(ctx, t, w.Device, andon.ByWithdrawal, stamp)
	if err == nil {
		err = index.Write(ctx, rows.InsertWithdrawal(t.Key, w, shard, stamp, index.TTL)...)
	}
	if err != nil {
		return err
	}
	v, err := s.readView(ctx, t, w.Device, true)
	if err != nil {
		return err
	}
	states, gen := t.Record.States, v.Generation(t.Gen())
	alone := s.processes.Alone() != 0
	run, incident, err := s.putRight(ctx, t, w.Device, v, &merge.Review{Quiet: alone}, nil)
	if err != nil {
		return err
	}
	s.counts.Raise(t.Key, gen, w.Device, v.NewestKey(states), v.Retired, v.Received)
	again := merge.DueReview{
		Tenant: t.Record.ID, Device: w.Device, Due: s.now().Add(s.options.Settle), Withdrawn: true,
		Review: merge.Review{Run: run.Base, Incident: incident.Base, Gen: gen},
	}
	if n := was.Newest(states); n != nil {
		again.Former = n.State
	}
	s.reviews.Add(again)
	return s.changed(ctx, t, cause, w.Device)
}

// rowOf is the name of the row of an entry that may be the newest of its state.
func (v *view) rowOf(state andon.State, at andon.Time) string {
	if w, ok := v.WithdrawnFrom(state, at); ok {
		return rows.WithdrawnRow(w)
	}
	return string(state)
}

// findHidden adds, from the log, the newest entries of states whose newest entry was withdrawn.
func (s *Store) findHidden(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, v *view,
) error {
	v.searched = true
	for _, hidden := range v.hidden {
		span := andon.Span{To: hidden.Time}
		for i := range v.States {
			if v.States[i].State == hidden.State {
				span.From = v.States[i].Time
			}
		}
		if span.From > span.To {
			continue
		}
		n, err := s.rows.Newest(ctx, t, device, hidden.State, span)
		if err != nil {
			return err
		}
		if n == nil && s.expired(v.Run.First) {
			n = v.recalled(hidden.State, t.Record.States)
		}
		if n != nil && n.Time != span.From {
			v.restored = append(v.restored, *n)
			v.Raise(*n)
		}
	}
	return nil
}

// rereadNewest reads the newest entry from the log again, if a newer one of its state was
// withdrawn: a later delivery that knew only the newer one may have left it out.
func (s *Store) rereadNewest(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, v *view,
) error {
	n := v.Newest(t.Record.States)
	if n == nil {
		return nil
	}
	if _, after := v.WithdrawnFrom(n.State, n.Time); !after {
		return nil
	}
	last, err := s.rows.Content(ctx, t, device, n.Time, n.State)
	if err == nil && last.Delivery > n.Delivery {
		n.Known, n.Content = true, last
		v.restored = append(v.restored, *n)
	}
	return err
}

// expired reports whether the entries of a time have expired in the log.
func (s *Store) expired(at andon.Time) bool {
	kept := s.working.Load().Retention
	return at != 0 && kept != andon.Forever && at.Add(andon.Duration(kept)) < s.options.Now()
}

// recalled returns the first entry of the run, which is known, if it has a state: it takes the
// place of a log that has expired. A run of another state would have left a row, unless that was
// withdrawn, too.
func (v *view) recalled(state andon.State, states *andon.StateSet) *merge.Newest {
	another := func(n merge.Newest) bool { return n.State != state }
	if slices.ContainsFunc(v.hidden, another) || v.IsWithdrawn(state, v.Run.First) {
		return nil
	}
	run := v.Latest
	run.States = append([]merge.Newest{{State: state, Time: v.Run.First}}, v.States...)
	base := run.RunBase(states)
	if n := run.Newest(states); n.State != state || n.Time != v.Run.First ||
		v.Run.Base.Time != base.Time || v.Run.Base.State != base.State {
		return nil
	}
	return &run.States[0]
}

// restoredRows write what was found in the log.
func restoredRows(t *rows.Tenant, device andon.DeviceID, v *view) (all []cql.Mutation) {
	for i := range v.restored {
		n := &v.restored[i]
		content := rows.PackEntry(n.Delivery, &andon.Event{
			Operator: n.Operator, Message: n.Message, Attributes: n.Attributes,
		})
		row := v.rowOf(n.State, n.Time)
		all = append(all, cql.Mutation{
			rows.InsertNewest(t.Key, string(device), row, n.Time, content),
		})
	}
	return all
}

// formerRows deletes the index rows of former generations of a device. No process writes them any
// more.
func (s *Store) formerRows(t *rows.Tenant, device andon.DeviceID, v *view) (index []cql.Mutation) {
	states := v.Others("")
	for _, w := range v.Withdrawn {
		states = append(states, w.State)
	}
	const most = 4 // withdrawals may follow each other
	for n := 1; n <= most; n++ {
		if n > len(v.Withdrawn) {
			break
		}
		gen := v.Generation(t.Gen()).AfterWithdrawals(-n)
		p := designs.Place{Tenant: t.Key, Device: string(device), At: andon.MaxTime, Gen: gen}
		for _, d := range s.working.Load().Writes {
			index = append(index, d.Retire(p, states)...)
		}
	}
	return index
}
