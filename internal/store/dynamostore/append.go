package dynamostore

import (
	"context"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/shared"
)

// eventsAtOnce is how many events of a request are under way at once, and those of the last device
// on top.
const eventsAtOnce = 2000

// Append is of andon.Log. Events are written in batches, and then what each device shows, once.
func (s *Store) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	if len(events) == 0 {
		_, err := s.tenant(ctx, id)
		return err
	}
	for len(events) > 0 {
		n := 0
		err := s.following(ctx, id, func(t *tenant) (err error) {
			n, err = s.appendPart(ctx, t, received, events)
			return err
		})
		if err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

// appendPart appends the events of the first devices, and returns how many those are.
func (s *Store) appendPart(
	ctx context.Context, t *tenant, received andon.Time, events []andon.Event,
) (n int, err error) {
	a := &appending{store: s, tenant: t, received: received, stamp: s.stamp()}
	a.index.store, a.index.tenant = s, t
	for n < len(events) && n < eventsAtOnce {
		end := n + 1
		for end < len(events) && events[end].Device == events[n].Device {
			end++
		}
		a.devices = append(a.devices, &deviceAppend{events: events[n:end:end]})
		n = end
	}
	return n, a.run(ctx)
}

// appending is a part of one Append under way.
type appending struct {
	store    *Store
	tenant   *tenant
	received andon.Time
	stamp    int64
	devices  []*deviceAppend
	index    indexRows
}

// deviceAppend is what it does to one device.
type deviceAppend struct {
	events      []andon.Event
	written     bool  // the events are, by the device of this version and incarnation
	version     int64 // a copy: a put that was raced leaves the version that it tried in the device
	incarnation int64
	answers     []andon.PersonID
	shards      int // that the events are in
}

func (a *appending) run(ctx context.Context) error {
	ids := make([]andon.DeviceID, len(a.devices))
	for i, d := range a.devices {
		ids[i] = d.events[0].Device
	}
	taken, err := a.store.devices.Take(ctx, a.tenant.Key, ids...)
	if err != nil {
		return err
	}
	defer taken.Give()
	if err := a.store.known(ctx, a.tenant, taken); err != nil {
		return err
	}
	var all []write
	for i, d := range a.devices {
		puts, err := a.rows(ctx, d, taken.Slots[i].View)
		if err != nil {
			return err
		}
		all = append(all, puts...)
	}
	if err := a.index.write(ctx, all...); err != nil {
		return err
	}
	err = shared.Parallel(ctx, len(a.devices), func(ctx context.Context, i int) error {
		return a.fold(ctx, a.devices[i], taken.Slots[i])
	})
	if err != nil {
		taken.Forget()
	}
	return err
}

// rows are the items of the events of a device that are not written yet as the device has it.
func (a *appending) rows(ctx context.Context, d *deviceAppend, is *device) ([]write, error) {
	answers, err := a.store.answering(ctx, a.tenant, is, d.events)
	if err != nil {
		return nil, err
	}
	purged := d.written && d.incarnation != is.Incarnation
	if !d.written {
		d.shards = a.store.shardsFor(a.tenant, is, unitsOfEvents(d.events))
	}
	n := max(d.shards, is.shards())
	stamp := a.stamp
	if d.written { // in another partition, perhaps: of both the later stands
		stamp = a.store.stamp()
	}
	var all []write
	for i := range d.events {
		if d.written && !purged && d.answers[i] == answers[i] {
			continue
		}
		e := event{Event: d.events[i], delivery: stamp}
		e.Operator = answers[i]
		all = append(all, write{
			table: tableLog, put: e.item(a.tenant, is, n, expiry(a.store.options.Retention)),
		})
		a.index.state(e.State)
		a.index.name(andon.OperatorNames, string(e.Operator))
		a.index.name(andon.SupervisorNames, string(e.EscalatedTo))
	}
	d.written, d.version, d.incarnation = true, is.version, is.Incarnation
	d.answers, d.shards = answers, n
	return all, nil
}

// answering returns who answers for each of some events: whom it names, else who was assigned to
// the device at its time.
func (s *Store) answering(
	ctx context.Context, t *tenant, d *device, events []andon.Event,
) ([]andon.PersonID, error) {
	answers := make([]andon.PersonID, len(events))
	var all []andon.Assignment // read where an event is older than the newest
	for i := range events {
		e := &events[i]
		switch {
		case e.Operator != "":
			answers[i] = e.Operator
		case d.AssignedFrom == 0:
		case e.Time >= d.AssignedFrom:
			answers[i] = d.Assignee
		default:
			if all == nil {
				var err error
				if all, err = s.assignments(ctx, t, d); err != nil {
					return nil, err
				}
			}
			for _, assigned := range all {
				if assigned.From <= e.Time {
					answers[i] = assigned.Operator
				}
			}
		}
	}
	return answers, nil
}

// fold folds the events of a device into what it shows. Where another writer was faster it may have
// assigned an operator, or purged the device: then events are written once more.
func (a *appending) fold(
	ctx context.Context, d *deviceAppend, slot *shared.Slot[device],
) error {
	id := d.events[0].Device
	return a.store.update(ctx, a.tenant, slot, id,
		func(_ *tenant, is *device) (bool, error) {
			if is.version != d.version {
				again, err := a.rows(ctx, d, is)
				if err == nil {
					err = a.index.write(ctx, again...)
				}
				if err != nil {
					return false, err
				}
			}
			return true, a.apply(ctx, d, is)
		})
}

func (a *appending) apply(ctx context.Context, d *deviceAppend, is *device) error {
	is.Shards = max(is.Shards, d.shards)
	is.Received = max(is.Received, a.received)
	states := a.tenant.Record.States
	p := a.store.past(ctx, a.tenant, is)
	hidden, err := p.withdrawn()
	if err != nil {
		return err
	}
	for i := range d.events {
		e := d.events[i]
		e.Operator = d.answers[i]
		e.State = is.keep(e.State)
		if e.EscalatedTo != "" {
			if err := a.escalate(ctx, is, &e); err != nil {
				return err
			}
		}
		if hidden[andon.EntryRef{Time: e.Time, State: e.State}] {
			continue
		}
		e.Operator = andon.PersonID(strings.Clone(string(e.Operator)))
		if err := is.Apply(p.entry(&e), states, p); err != nil {
			return err
		}
	}
	return a.escalations(ctx, d, is, p, hidden)
}

// keep notes that the device has entries of a state, and returns a copy of it.
func (d *device) keep(state andon.State) andon.State {
	if i := slices.Index(d.States, state); i >= 0 {
		return d.States[i]
	}
	state = andon.State(strings.Clone(string(state)))
	d.States = append(d.States, state)
	return state
}

// escalate writes the escalation that an event brings.
func (a *appending) escalate(ctx context.Context, is *device, e *andon.Event) error {
	is.HasEscalations = true
	return a.store.insert(ctx, a.tenant, is, standing{Escalation: andon.Escalation{
		Device: e.Device, Time: e.Time, State: e.State, At: e.Time, To: e.EscalatedTo,
	}})
}

// escalations folds those of the events that brought one, once all events are folded: by what
// stands for each then.
func (a *appending) escalations(
	ctx context.Context, d *deviceAppend, is *device, p *past, hidden map[andon.EntryRef]bool,
) error {
	for i := range d.events {
		e := &d.events[i]
		if e.EscalatedTo == "" || hidden[andon.EntryRef{Time: e.Time, State: e.State}] {
			continue
		}
		if err := p.escalate(e.Time, is.keep(e.State)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// escalate folds the record that stands for an entry.
func (p *past) escalate(at andon.Time, state andon.State) error {
	r, err := p.store.standing(p.ctx, p.tenant, p.device, at, state)
	if err != nil || r.At == 0 {
		return err
	}
	return p.device.Escalate(current.Escalation{
		Entry: at, State: state, At: r.At, To: andon.PersonID(strings.Clone(string(r.To))),
	}, p.tenant.Record.States, p)
}
