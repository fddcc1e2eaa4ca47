package dynamostore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
)

// Append implements andon.Log. It writes the events in batches, and then once what each device
// shows.
func (s *Store) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	last := len(events) - 1
	switch {
	case last < 0:
		_, err := s.tenant(ctx, id)
		return err
	case events[0].Device == events[last].Device:
		k := shared.DeviceKey{Tenant: string(id), Device: events[0].Device}
		r := &sent[andon.Event]{received: received, all: events}
		return joining(ctx, s, &s.appends, k, r, s.appending)
	}
	for part := range shared.Parts(events) {
		err := s.following(ctx, id, func(t *tenant) error {
			return s.appendPart(ctx, t, received, part)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sent is what one request has of one device. It may be written together with other requests.
type sent[T any] struct {
	received andon.Time
	all      []T
	err      error // of this request alone
}

// together returns what several requests have, in the order in which they came.
func together[T any](some []*sent[T]) (received andon.Time, all []T) {
	if len(some) == 1 {
		return some[0].received, some[0].all
	}
	for _, r := range some {
		received, all = andon.Heard(received, r.received), append(all, r.all...)
	}
	return received, all
}

// joining writes what several requests have of one device together: while a write of it is under
// way, the next one is gathered. If it is refused, one of the requests may be at fault, so each is
// then written alone.
func joining[T any](
	ctx context.Context, s *Store, joins *shared.Joins[sent[T]], k shared.DeviceKey, r *sent[T],
	of func(andon.Time, []T) deviceWrite,
) error {
	err := joins.Do(ctx, &s.work, k, len(r.all), r, func(
		ctx context.Context, joined *shared.Joined[sent[T]],
	) error {
		return s.following(ctx, andon.TenantID(joined.Key.Tenant), func(t *tenant) error {
			taken, err := s.devices.Take(ctx, t.Key, joined.Key.Device)
			if err != nil {
				return err
			}
			defer give(taken)
			some := joined.Close()
			if len(some) == 0 {
				return nil
			}
			for _, r := range some {
				r.err = nil // of an earlier try
			}
			received, all := together(some)
			err = s.write(ctx, t, taken, of(received, all))
			if andon.KindOf(err) != andon.Invalid || len(some) == 1 {
				return err
			}
			for _, r := range some {
				err := s.write(ctx, t, taken, of(r.received, r.all))
				if errors.Is(err, errOldSeverities) {
					return err // all are written again
				}
				r.err = err
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return r.err
}

func (s *Store) appendPart(
	ctx context.Context, t *tenant, received andon.Time, events []andon.Event,
) error {
	var all []deviceWrite
	var ids []andon.DeviceID
	for part := range shared.ByDevice(events, shared.OfEvent) {
		all = append(all, s.appending(received, part))
		ids = append(ids, part[0].Device)
	}
	return s.writeDevices(ctx, t, ids, all)
}

func (s *Store) appending(received andon.Time, events []andon.Event) deviceWrite {
	return &appending{store: s, received: received, stamp: s.stamp(), events: events}
}

// appending is what appends do to one device. Of two deliveries of an entry the later wins.
type appending struct {
	store    *Store
	received andon.Time
	stamp    int64

	events      []andon.Event
	written     bool  // the events are written, for the device of this version and incarnation
	version     int64 // a copy: a put that lost a race leaves the version it tried in the device
	incarnation int64
	operators   []andon.PersonID
	shards      int  // partitions that the events are in
	again       bool // some were written more than once
}

type deviceWrite interface {
	// rows returns its rows, and adds the index rows that they need.
	rows(ctx context.Context, d *device, index items.IndexRows) ([]ddb.Write, error)
	// fold folds it into a device. Where another writer was faster it writes its rows again, if
	// they may be others now.
	fold(ctx context.Context, d *device) error
}

func (s *Store) writeDevices(
	ctx context.Context, t *tenant, ids []andon.DeviceID, of []deviceWrite,
) error {
	taken, err := s.devices.Take(ctx, t.Key, ids...)
	if err != nil {
		return err
	}
	defer give(taken)
	return s.write(ctx, t, taken, of...)
}

// write writes the rows of several devices together, with the index rows that they need, and then
// folds each into its device.
func (s *Store) write(ctx context.Context, t *tenant, taken *slots, of ...deviceWrite) error {
	if err := s.fill(ctx, t, taken); err != nil {
		return err
	}
	index := items.IndexRows{}
	var all []ddb.Write
	for i, slot := range taken.Slots {
		puts, err := of[i].rows(ctx, slot.View, index)
		if err != nil {
			return err
		}
		all = append(all, puts...)
	}
	t, err := s.follow(ctx, t, index, all...)
	if err != nil {
		return err
	}
	err = shared.Parallel(ctx, len(taken.Slots), func(ctx context.Context, i int) error {
		return s.update(ctx, t, taken.Slots[i], andon.ByEntry, func(d *device) (bool, error) {
			return true, of[i].fold(ctx, d)
		})
	})
	if err != nil {
		taken.Forget()
	}
	return err
}

// writeRows writes what is written to a device as it is now.
func (s *Store) writeRows(ctx context.Context, of deviceWrite, is *device) error {
	index := items.IndexRows{}
	all, err := of.rows(ctx, is, index)
	if err != nil {
		return err
	}
	return s.writeIndexed(ctx, index, all...)
}

// rows returns the items of those events of a device that are not written yet, or with another
// operator, and adds the index rows that they need. The event that the device shows may be there as
// another process has written it meanwhile: it is written again, and then folded.
func (a *appending) rows(
	ctx context.Context, is *device, index items.IndexRows,
) ([]ddb.Write, error) {
	operators, err := a.store.operators(ctx, is, a.events)
	if err != nil {
		return nil, err
	}
	purged := a.written && a.incarnation != is.Incarnation
	if !a.written {
		a.shards = a.store.shardsFor(is, items.UnitsOfEvents(a.events))
	}
	n := max(a.shards, is.Partitions())
	stamp := a.stamp
	if a.written { // perhaps in another partition: of the two the later wins
		stamp = a.store.stamp()
	}
	var all []ddb.Write
	at := make(map[andon.EntryRef]int, len(a.events))
	for i := range a.events {
		e := event{Event: a.events[i], Delivery: stamp}
		e.Operator = operators[i]
		same, twice := at[e.Ref()]
		shown := e.Time == is.Time && e.State == is.State
		if a.written && !purged && !twice && !shown && a.operators[i] == operators[i] {
			continue
		}
		a.again = a.again || a.written
		put := e.Item(is, n, items.Expiry(a.store.options.Retention))
		a.store.indexed(is.Tenant, items.Named{Of: items.OfOperator, Name: string(e.Operator)},
			items.UnitsOfEvents(a.events[i:i+1]))
		w := ddb.Write{Table: items.TableLog, Put: put}
		if twice {
			all[same] = w
		} else {
			at[e.Ref()] = len(all)
			all = append(all, w)
		}
		if !slices.Contains(is.States, e.State) { // else it has its row already
			index.State(is.Tenant, e.State)
		}
		index.Name(is.Tenant, andon.OperatorNames, string(e.Operator))
		index.Name(is.Tenant, andon.SupervisorNames, string(e.EscalatedTo))
	}
	a.written, a.version, a.incarnation = true, is.Version, is.Incarnation
	a.operators, a.shards = operators, n
	return all, nil
}

// operators returns the operator of each of some events: the one it names, else the one who was
// assigned to the device at its time.
func (s *Store) operators(
	ctx context.Context, d *device, events []andon.Event,
) ([]andon.PersonID, error) {
	operators := make([]andon.PersonID, len(events))
	var all []andon.Assignment // read where an event is older than the newest
	for i := range events {
		e := &events[i]
		switch {
		case e.Operator != "":
			operators[i] = e.Operator
		case d.AssignedFrom == 0:
		case e.Time >= d.AssignedFrom:
			operators[i] = d.Assignee
		default:
			if all == nil {
				var err error
				if all, err = s.assignments(ctx, d); err != nil {
					return nil, err
				}
			}
			for _, assigned := range all {
				if assigned.From <= e.Time {
					operators[i] = assigned.Operator
				}
			}
		}
	}
	return operators, nil
}

// fold folds the events of a device into what it shows. Another writer that was faster may have
// assigned an operator, or purged the device: then the events are written again.
func (a *appending) fold(ctx context.Context, is *device) error {
	if is.Version != a.version {
		if err := a.store.writeRows(ctx, a, is); err != nil {
			return err
		}
	}
	is.Shards = max(is.Shards, a.shards)
	is.Received = andon.Heard(is.Received, a.received)
	p := a.store.history(ctx, is)
	refs := make([]andon.EntryRef, len(a.events))
	for i := range a.events {
		refs[i] = andon.EntryRef{Time: a.events[i].Time, State: a.events[i].State}
	}
	if err := p.learn(refs...); err != nil {
		return err
	}
	newest := is.Time
	for i := range a.events {
		e := a.events[i]
		e.Operator = a.operators[i]
		e.State = is.Keep(e.State)
		if e.Time <= newest || a.again {
			is.Rewritten.Add(e.Time)
		}
		if e.EscalatedTo != "" {
			if err := a.escalate(ctx, is, &e); err != nil {
				return err
			}
		}
		if p.hidden[refs[i]] {
			continue
		}
		e.Operator = andon.PersonID(strings.Clone(string(e.Operator)))
		err := p.noting(refs[i], func() error { return is.Apply(p.entry(&e), p.states(), p) })
		if err != nil {
			return err
		}
	}
	// The escalations that they brought are folded after all of them.
	for i, ref := range refs {
		if a.events[i].EscalatedTo == "" || p.hidden[ref] {
			continue
		}
		err := p.noting(ref, func() error { return p.escalate(ref.Time, is.Keep(ref.State)) })
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (a *appending) escalate(ctx context.Context, is *device, e *andon.Event) error {
	is.Escalates(e.Time, e.Time)
	r := items.LatestRecord{Of: event{Event: *e, Delivery: a.stamp}, Escalation: andon.Escalation{
		Device: e.Device, Time: e.Time, State: e.State, At: e.Time, To: e.EscalatedTo,
	}}
	return a.store.insert(ctx, is, r)
}

// noting folds something of an entry, and notes the entry if the device shows something else then.
func (p *history) noting(ref andon.EntryRef, fold func() error) error {
	before := p.device.Shown()
	err := fold()
	if !andon.ShowAlike(before, p.device.Shown()) {
		p.device.Cause = andon.EntryRef{Time: ref.Time, State: p.device.Keep(ref.State)}
	}
	return err
}

// escalate folds the newest escalation record of an entry.
func (p *history) escalate(at andon.Time, state andon.State) error {
	r, err := p.store.latestRecord(p.ctx, p.device, andon.EntryRef{Time: at, State: state})
	if err != nil || r.At == 0 {
		return err
	}
	return p.device.Escalate(current.Escalation{
		Entry: at, State: state, At: r.At, To: andon.PersonID(strings.Clone(string(r.To))),
	}, p.states(), p)
}
