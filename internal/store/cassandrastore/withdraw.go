package cassandrastore

import (
	"context"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/shared"
)

// A withdrawal is two rows. The one beside the entry in the log is found by every reader of the
// log. The one in latest_by_device is found by every append, and by readers of what the device
// shows.
//
// What is newest merges by the times of entries, so an entry that was withdrawn stays in the row of
// its state. A reader leaves it out, and takes what stands in the row of the withdrawal: the newest
// entry of that state before. An append that knows of the withdrawal writes there. One of another
// process that does not know yet writes an older entry in vain, so until that is over a reader also
// looks into the log. Each withdrawal begins the next generation of the device (shared.Generation),
// and it is over once the start of the present run is final in that generation.

// Withdraw is of andon.Corrections.
func (s *Store) Withdraw(
	ctx context.Context, id andon.TenantID, w andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	ctx, end := s.within(ctx)
	defer end()
	kept = w
	err = s.onDevice(ctx, id, w.Device, func(
		t *tenant, device andon.DeviceID, _ *taken,
	) error {
		e, err := s.entry(ctx, t, device, w.Time, w.State)
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
		// What is there already is written again: an attempt before may have been broken off.
		return s.withdraw(ctx, t, &kept)
	})
	kept.Device = w.Device
	return kept, added, err
}

// withdraw writes a withdrawal, and then what the device shows without the entry.
func (s *Store) withdraw(ctx context.Context, t *tenant, w *andon.Withdrawal) error {
	was, err := s.look(ctx, t, w.Device, false)
	if err != nil {
		return err
	}
	index := s.newIndexRows(t.Key, s.ttl(s.working.Load().Retention))
	shard := shared.ShardOf(w.Time, w.State, was.shards)
	index.exists(ofEvents, string(w.Device), w.Time.Day(), shared.ShardsOf(was.shards),
		was.labelOf(w.State), w.Time)
	err = index.write(ctx, withdrawalRows(t.Key, w, shard, s.stamp(), index.ttl)...)
	if err != nil {
		return err
	}
	v, err := s.look(ctx, t, w.Device, true)
	if err != nil {
		return err
	}
	states, gen := t.Record.States, v.Generation(t.generation())
	alone := s.processes.Alone(s.processes.now()) != 0
	run, incident, err := s.putRight(ctx, t, w.Device, v, &shared.Review{Quiet: alone})
	if err != nil {
		return err
	}
	s.listedDevices.Add(t.Key, w.Device)
	s.counts.Raise(t.Key, gen, w.Device, v.NewestKey(states), v.Retired, v.Received)
	again := shared.DueReview{
		Tenant: t.Record.ID, Device: w.Device, Due: s.now().Add(s.options.Settle), Withdrawn: true,
		Review: shared.Review{Run: run.Base, Incident: incident.Base, Gen: gen},
	}
	if n := was.Newest(states); n != nil {
		again.Former = n.State
	}
	s.reviews.Add(again)
	return nil
}

// withdrawalRows are the two rows of a withdrawal.
func withdrawalRows(
	tenant string, w *andon.Withdrawal, shard int, stamp int64, ttl lifetime,
) []cql.Mutation {
	device, beside := string(w.Device), &andon.Escalation{By: w.By, Note: w.Note}
	row := withdrawnRow(andon.EntryRef{Time: w.Time, State: w.State})
	return []cql.Mutation{cql.One(
		"INSERT INTO events_by_device (tenant, device, day, shard, time, state, at, supervisor, "+
			"record) VALUES (?, ?, ?, ?, ?, ?, ?, '', ?) USING TIMESTAMP ? AND TTL ?",
		tenant, device, int(w.Time.Day()), shard, int64(w.Time), string(w.State),
		-int64(w.At), packRecord(beside), stamp, ttl.seconds(w.Time)), cql.One(
		"INSERT INTO latest_by_device (tenant, device, state, withdrawn) VALUES (?, ?, ?, ?) "+
			"USING TIMESTAMP ?",
		tenant, device, row, stamp, stamp)}
}

// withdrawalOf returns the withdrawal of an entry from its rows, the first where two processes kept
// one at once; nil where there is none.
func withdrawalOf(device andon.DeviceID, rows []eventRow) (w *andon.Withdrawal) {
	for i := range rows {
		if r := &rows[i]; r.at < 0 && (w == nil || andon.Time(-r.at) < w.At) {
			w = &andon.Withdrawal{
				Device: device, Time: andon.Time(r.time), State: andon.State(r.state),
				At: andon.Time(-r.at), By: andon.PersonID(r.by), Note: r.note,
			}
		}
	}
	return w
}

// rowOf names the row in which an entry is that may be the newest of its state.
func (v *view) rowOf(state andon.State, at andon.Time) string {
	if w, ok := v.WithdrawnBehind(state, at); ok {
		return withdrawnRow(w)
	}
	return string(state)
}

// findHidden takes in what the log has of the states of which the newest entry was withdrawn.
func (s *Store) findHidden(
	ctx context.Context, t *tenant, device andon.DeviceID, v *view,
) error {
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
		n, err := s.newestOf(ctx, t, device, hidden.State, span)
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

// newestOf returns the newest entry of a state in the log; nil where there is none.
func (s *Store) newestOf(
	ctx context.Context, t *tenant, device andon.DeviceID, state andon.State, span andon.Span,
) (*shared.Newest, error) {
	only, err := andon.ParseStateFilter(string(state))
	if err != nil {
		return nil, err
	}
	q := andon.EventQuery{Span: span, States: only, Limit: 1}
	for e, err := range s.walk(ctx, t, device, q, nil) {
		if err != nil {
			return nil, err
		}
		content, err := s.contentOf(ctx, t, device, e.Time, state)
		return &shared.Newest{State: state, Time: e.Time, Known: true, Content: content}, err
	}
	return nil, nil
}

// contentOf returns what the last delivery of an entry in the log has; the zero value where the log
// has expired.
func (s *Store) contentOf(
	ctx context.Context, t *tenant, device andon.DeviceID, at andon.Time, state andon.State,
) (last shared.Content, err error) {
	rows, err := s.entryRows(ctx, t, device, at, state)
	for i := range rows {
		if r := &rows[i]; r.at == 0 && r.Delivery > last.Delivery {
			last = shared.Content(r.entry)
		}
	}
	return last, err
}

// rereadNewest takes in what the log has of the newest entry, if a newer one of its state was
// withdrawn: a later delivery, which knew of the newer one alone, may have left out to show it.
func (s *Store) rereadNewest(
	ctx context.Context, t *tenant, device andon.DeviceID, v *view,
) error {
	n := v.Newest(t.Record.States)
	if n == nil {
		return nil
	}
	if _, behind := v.WithdrawnBehind(n.State, n.Time); !behind {
		return nil
	}
	last, err := s.contentOf(ctx, t, device, n.Time, n.State)
	if err == nil && last.Delivery > n.Delivery {
		n.Known, n.Content = true, last
		v.restored = append(v.restored, *n)
	}
	return err
}

// expired reports whether the log has lost what it had of a time.
func (s *Store) expired(at andon.Time) bool {
	kept := s.working.Load().Retention
	return at != 0 && kept != andon.Forever && at.Add(andon.Duration(kept)) < s.options.Now()
}

// recalled returns the first entry of the run that is known, if it is of a state: it stands in for
// a log that has expired. A run of another state would have left a row that says so, unless that
// was withdrawn, too.
func (v *view) recalled(state andon.State, states *andon.StateSet) *shared.Newest {
	another := func(n shared.Newest) bool { return n.State != state }
	if slices.ContainsFunc(v.hidden, another) || v.IsWithdrawn(state, v.Run.First) {
		return nil
	}
	run := v.Latest
	run.States = append([]shared.Newest{{State: state, Time: v.Run.First}}, v.States...)
	base := run.RunBase(states)
	if n := run.Newest(states); n.State != state || n.Time != v.Run.First ||
		v.Run.Base.Time != base.Time || v.Run.Base.State != base.State {
		return nil
	}
	return &run.States[0]
}

// restoredRows keep what was found in the log.
func restoredRows(t *tenant, device andon.DeviceID, v *view) (all []cql.Mutation) {
	for i := range v.restored {
		n := &v.restored[i]
		content := packEntry(n.Delivery, &andon.Event{
			Operator: n.Operator, Message: n.Message, Attributes: n.Attributes,
		})
		row := v.rowOf(n.State, n.Time)
		all = append(all, cql.Mutation{newestStatement(t.Key, string(device), row, n.Time, content)})
	}
	return all
}

// formerRows takes away the index rows of former generations of a device. No process writes them
// any more.
func (s *Store) formerRows(t *tenant, device andon.DeviceID, v *view) (index []cql.Mutation) {
	states := v.Others("")
	for _, w := range v.Withdrawn {
		states = append(states, w.State)
	}
	const most = 4 // withdrawals may follow each other
	for n := 1; n <= most; n++ {
		gen, ok := v.Generation(t.generation()).Before(n)
		if !ok {
			break
		}
		p := designs.Place{Tenant: t.Key, Device: string(device), At: andon.MaxTime, Gen: gen}
		for _, d := range s.working.Load().Writes {
			index = append(index, d.Retire(p, states)...)
		}
	}
	return index
}
