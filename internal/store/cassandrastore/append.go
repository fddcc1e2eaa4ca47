package cassandrastore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// appending is one Append while it runs.
type appending struct {
	store    *Store
	working  *provision.Working
	tenant   *rows.Tenant
	received andon.Time
	stamp    int64
	index    *rows.Index
	devices  []*deviceAppend
	marks    []cql.Mutation // of devices whose readers see the log before anything else
	log      []cql.Mutation // the entries and what each device shows
	unsure   []load         // to be counted
	cause    *rows.Pending  // of what may change
}

type deviceAppend struct {
	events  []andon.Event
	answers []andon.PersonID // who is responsible for each of events
	slot    *slot
	was, is *view
	// changed says that the index row of the device's state must be written: the state is new, or
	// no process is known to have written the row.
	changed       bool
	run, incident merge.NewStart
	// cause is set if the device may show something else.
	cause *rows.Pending
	// escalates says that the newest escalation of the device may change.
	escalates bool
}

// Append implements andon.Log. The entries of one partition are written atomically; a request is
// not.
func (s *Store) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	if len(events) == 0 {
		_, err := s.tenant(ctx, id)
		return err
	}
	for part := range shared.Parts(events) {
		if err := s.appendPart(ctx, id, received, part); err != nil {
			return err
		}
	}
	return nil
}

// appendPart appends a part of a request within Options.Timeout, including what it waits for.
func (s *Store) appendPart(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	ctx, end := s.within(ctx)
	defer end()
	if _, err := s.tenant(ctx, id); err != nil {
		return cql.Failure("append", err)
	}
	appends := s.tenants.appendsOf(id)
	if err := appends.RLock(ctx); err != nil {
		return cql.Failure("append", err)
	}
	defer appends.RUnlock()
	t, err := s.tenant(ctx, id) // waiting may have taken long
	if err == nil {
		err = s.append(ctx, t, received, rows.WithKeys(t.Purged, events, shared.OfEvent))
	}
	return cql.Failure("append", err)
}

// append writes all events of some devices.
func (s *Store) append(
	ctx context.Context, t *rows.Tenant, received andon.Time, events []andon.Event,
) error {
	w := s.working.Load()
	a := &appending{
		store: s, working: w, tenant: t, received: received, stamp: s.stamp(),
		index: s.newIndexRows(t.Key, s.ttl(w.Retention)),
	}
	var ids []andon.DeviceID
	for part := range shared.ByDevice(events, shared.OfEvent) {
		a.devices = append(a.devices, &deviceAppend{events: part})
		ids = append(ids, part[0].Device)
	}
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	now, slots, err := s.take(ctx, t, ids...)
	if err != nil {
		return err
	}
	defer slots.Give()
	a.tenant = now
	ctx, cancel := s.writing(ctx)
	defer cancel()
	if err := a.run(ctx, slots); err != nil {
		slots.Forget()
		return err
	}
	return nil
}

// freshFor is the greatest age of a view that an append works from: the view lacks what another
// process wrote later. Together with the time that the append may take it must be below
// Options.Settle.
func (o Options) freshFor() time.Duration { return min(time.Second, o.Settle/2) }

// writeWithin is how long a write to devices may take, once it has taken them: from when it knows
// their keys and severities.
func (o Options) writeWithin() time.Duration { return o.Settle / 2 }

// landedAfter is how long after a change of a tenant, or of the settings, all has landed that was
// written by what processes knew before: each knows of it after every, and gives up what it writes
// after writeWithin.
func (o Options) landedAfter() time.Duration { return 2*every + o.Settle }

// writing bounds a write to devices that were taken. It is given up when it takes too long, since
// other processes may have concluded something from not seeing it, or deleted what it leads to.
func (s *Store) writing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.options.writeWithin())
}

func (a *appending) run(ctx context.Context, slots *taken) error {
	began := a.store.processes.Now()
	if err := a.store.views(ctx, a.tenant, slots, a.store.options.freshFor()); err != nil {
		return err
	}
	err := shared.Parallel(ctx, len(a.devices), func(ctx context.Context, i int) (err error) {
		d := a.devices[i]
		d.slot, d.was = slots.Slots[i], slots.Slots[i].View
		if d.was.pending != nil { // another process changed it, and is slow or has ended
			_, err = a.store.complete(ctx, a.tenant, d.events[0].Device, d.was.pending)
		}
		if err == nil {
			d.answers, err = a.answering(ctx, d)
		}
		return err
	})
	if err == nil {
		// Another append of a device may have a later stamp and have ended its mark already. With
		// the stamp of the delivery, this mark would count as ended, too.
		a.cause, err = a.store.pending(ctx, a.tenant, andon.ByEntry, a.store.stamp())
	}
	if err != nil {
		return err
	}
	for _, d := range a.devices {
		a.prepare(d)
	}
	// What readers find in the log has a mark already, see changes.go.
	if err := a.store.db.Write(ctx, a.marks...); err != nil {
		return err
	}
	// Index rows before starts: a start says that the index rows of the run are written.
	if err := a.index.Write(ctx, a.log...); err != nil {
		return err
	}
	if err := a.writeStarts(ctx); err != nil {
		return err
	}
	if err := a.store.processes.InTime(began, a.store.options.writeWithin()); err != nil {
		return err
	}
	if err := a.inFeed(ctx); err != nil {
		return err
	}
	for _, d := range a.devices {
		a.finish(d)
	}
	a.divideFull(ctx)
	return nil
}

func (a *appending) prepare(d *deviceAppend) {
	states := a.tenant.Record.States
	d.is = d.was.clone()
	for _, e := range d.newest() {
		d.is.Raise(a.remembered(e))
	}
	d.is.hear(a.received, a.stamp)
	d.is.pending = nil
	a.grow(d)
	a.entries(d)
	alive := d.is.Alive(states)
	if alive {
		severities := a.tenant.Gen()
		d.run, d.incident = d.is.Starts(&d.was.Latest, severities, states, d.firstAfter(states))
		d.changed = !d.was.Run.Begins(d.is.Generation(severities), d.run.Base)
	}
	if alive && d.mayShowOther(states) {
		d.cause = a.causeOf(d)
	}
	if d.cause != nil && (d.escalates || d.late(states)) {
		a.marks = append(a.marks, d.cause.Set(a.tenant.Key, d.events[0].Device))
	}
	a.shown(d)
	if alive {
		a.byState(d)
	}
}

// mayShowOther reports whether the device may show something else than before, as the feed compares
// it.
func (d *deviceAppend) mayShowOther(states *andon.StateSet) bool {
	if d.changed || d.run.Write || d.incident.Write || d.escalates {
		return true
	}
	was, is := d.was.Newest(states), d.is.Newest(states)
	return was == nil || d.is.Assigned.From == 0 && was.Operator != is.Operator
}

// late reports whether an event may be older than what the device shows.
func (d *deviceAppend) late(states *andon.StateSet) bool {
	events, was := d.valid(), d.was.Newest(states)
	return was != nil && len(events) > 0 && events[0].Time <= was.Time
}

// causeOf returns the mark of a device: of its entries the newest one that it shows, or else the
// last one made the change.
func (a *appending) causeOf(d *deviceAppend) *rows.Pending {
	if a.cause == nil {
		return nil
	}
	c, events := *a.cause, d.valid()
	if len(events) == 0 {
		return nil
	}
	last := &events[len(events)-1]
	c.Entry = andon.EntryRef{Time: last.Time, State: last.State}
	return &c
}

// inFeed brings the feed up to date for the devices that may show something else.
func (a *appending) inFeed(ctx context.Context) error {
	alone := a.store.processes.Alone()
	var all []*comparison
	for _, d := range a.devices {
		if d.cause == nil {
			continue
		}
		c := a.store.comparison(a.tenant, d.events[0].Device, d.cause)
		if alone != 0 && d.was.read >= alone && !d.escalates && d.run.First != 0 {
			c.known = d.is.clone()
			c.known.Run, c.known.Incident = d.run.Start, d.incident.Start
			c.known.Run.Final, c.known.Incident.Final = true, d.incident.First != 0
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil
	}
	return a.store.inFeed(ctx, a.tenant, all...)
}

func (a *appending) byState(d *deviceAppend) {
	states := a.tenant.Record.States
	newer := d.is.NewestKey(states).Compare(d.was.NewestKey(states)) > 0
	for _, design := range a.working.Writes {
		if d.changed || (newer && design.OneRow()) {
			a.log = append(a.log, design.Add(placeOf(a.tenant, d.events[0].Device, d.is)))
		}
	}
}

// contentRemembered is the most bytes of the content of an entry that views keep in memory.
const contentRemembered = 512

// remembered returns an entry as views keep it. It is a copy, because the event may be a part of
// the body of a request.
func (a *appending) remembered(e *andon.Event) merge.Newest {
	n := merge.Newest{State: e.State, Time: e.Time}
	o, m := len(e.Operator), len(e.Operator)+len(e.Message)
	if m+len(e.Attributes) > contentRemembered {
		n.Operator = andon.PersonID(strings.Clone(string(e.Operator))) // the feed compares it
		return n
	}
	// Not concatenated by +, which copies nothing if all but one are empty.
	text := strings.Join([]string{string(e.Operator), e.Message, string(e.Attributes)}, "")
	n.Known = true
	n.Content = merge.Content{
		Delivery: a.stamp, Operator: andon.PersonID(text[:o]), Message: text[o:m],
		Attributes: andon.JSON(text[m:]),
	}
	return n
}

// valid returns the events without those that were withdrawn before.
func (d *deviceAppend) valid() []andon.Event {
	withdrawn := func(e andon.Event) bool { return d.is.IsWithdrawn(e.State, e.Time) }
	if len(d.is.Withdrawn) == 0 || !slices.ContainsFunc(d.events, withdrawn) {
		return d.events
	}
	return slices.DeleteFunc(slices.Clone(d.events), withdrawn)
}

// newest returns the newest valid event of each state.
func (d *deviceAppend) newest() []*andon.Event {
	var found []*andon.Event
	met := map[andon.State]bool{}
	for events := d.valid(); len(events) > 0; events = events[:len(events)-1] {
		e := &events[len(events)-1] // they are in the order of the log
		if !met[e.State] {
			met[e.State], found = true, append(found, e)
		}
	}
	return found
}

// firstAfter returns a function that returns the time of the first valid entry of the request
// strictly after a key; 0 where there is none. Events are in the order of time.
func (d *deviceAppend) firstAfter(states *andon.StateSet) func(andon.EventKey) andon.Time {
	events := d.valid()
	return func(base andon.EventKey) andon.Time {
		base.Device = ""
		for i := range events {
			key := events[i].Key(states)
			key.Device = ""
			if key.Compare(base) > 0 {
				return key.Time
			}
		}
		return 0
	}
}

// entries writes the log: the entries of one day and shard as one batch, unless it gets large.
func (a *appending) entries(d *deviceAppend) {
	var batches rows.Batches
	for i := range d.events {
		e := &d.events[i]
		day, shard := e.Time.Day(), shared.ShardOf(e.Time, e.State, d.is.shards)
		batches.Add(day, shard, rows.EntrySize(e),
			rows.InsertEntry(a.tenant.Key, a.stamp, a.index.TTL, e, shard))
		a.index.Partition(rows.OfEvents, string(e.Device), day, shared.ShardsOf(d.is.shards),
			d.is.labelOf(e.State), e.Time)
		a.index.Name(rows.OfState, string(e.State))
		if d.answers[i] != "" {
			a.index.Operator(string(d.answers[i]), string(e.Device), e.Time)
		}
		if e.EscalatedTo != "" {
			d.escalates = true
			record := andon.Escalation{
				Device: e.Device, Time: e.Time, State: e.State, At: e.Time, To: e.EscalatedTo,
			}
			batches.Add(day, shard, 0, rows.InsertEscalation(
				a.tenant.Key, a.stamp, a.index.TTL, record, shard))
			a.log = append(a.log, rows.Escalated(a.tenant, a.stamp, a.index, record)...)
			a.log = append(a.log, d.was.restated(a.tenant, &record)...)
		}
	}
	a.log = append(a.log, batches.All...)
	a.index.Device(string(d.events[0].Device))
}

// shown writes the newest entry of each state, and when the device was heard. Entries that are
// known to be older than what is stored are left out; one that only may be older loses by its
// timestamp.
func (a *appending) shown(d *deviceAppend) {
	key, device := a.tenant.Key, string(d.events[0].Device)
	m := append(d.cause.Set(key, d.events[0].Device),
		rows.SetHeard(key, d.events[0].Device, d.is.Received, d.is.heardStamp))
	for _, e := range d.newest() {
		if !slices.ContainsFunc(d.is.States, func(l merge.Newest) bool {
			return l.State == e.State && l.Time == e.Time
		}) {
			continue
		}
		if len(m) >= rows.BatchRows {
			a.log, m = append(a.log, m), nil
		}
		m = append(m, rows.InsertNewest(key, device, d.is.rowOf(e.State, e.Time), e.Time,
			rows.PackEntry(a.stamp, e)))
	}
	a.log = append(a.log, m)
}

// writeStarts writes the starts that changed. This is rare: a device changed its state, or a late
// entry belongs to the present run or incident.
func (a *appending) writeStarts(ctx context.Context) error {
	var changed []*deviceAppend
	for _, d := range a.devices {
		if d.run.Write || d.incident.Write {
			changed = append(changed, d)
		}
	}
	starts := make([]cql.Mutation, len(changed))
	err := shared.Parallel(ctx, len(changed), func(ctx context.Context, i int) error {
		d := changed[i]
		device := d.events[0].Device
		for _, m := range []*merge.NewStart{&d.run, &d.incident} {
			if !m.Seek {
				continue
			}
			first, err := a.store.rows.First(ctx, a.tenant, device, m.Base)
			if err != nil {
				return err
			}
			m.First = andon.Earlier(m.First, first)
			m.Write = m.First != 0 // else the log has expired there
		}
		starts[i] = rows.SetStarts(a.tenant.Key, device, d.run, d.incident)
		return nil
	})
	if err != nil {
		return err
	}
	empty := func(m cql.Mutation) bool { return len(m) == 0 }
	return a.store.db.Write(ctx, slices.DeleteFunc(starts, empty)...)
}

// statesRemembered bounds the memory that a device with ever new states can take.
const statesRemembered = 256

// small reports whether a view may be kept in memory.
func (v *view) small() bool { return len(v.States)+len(v.Withdrawn) <= statesRemembered }

// finish updates what is in memory after the append was acknowledged by Cassandra.
func (a *appending) finish(d *deviceAppend) {
	states := a.tenant.Record.States
	if d.run.Write {
		d.is.Run = d.run.Start
	}
	if d.incident.Write {
		d.is.Incident = d.incident.Start
	}
	d.is.ForgetOlder(states)
	if d.slot.View = d.is; !d.is.small() || d.escalates {
		d.slot.View = nil
	}
	device := d.events[0].Device
	gen := d.is.Generation(a.tenant.Gen())
	a.store.counts.Raise(a.tenant.Key, gen, device, d.is.NewestKey(states), d.is.Retired,
		d.is.Received)
	if !d.changed && !d.run.Write && !d.incident.Write {
		return
	}
	var former andon.State
	if n := d.was.Newest(states); n != nil {
		former = n.State
	}
	a.store.reviews.Add(merge.DueReview{
		Tenant: a.tenant.Record.ID, Device: device, Former: former,
		Due:    a.store.now().Add(a.store.options.Settle),
		Review: merge.Review{Run: d.is.Run.Base, Incident: d.is.Incident.Base, Gen: gen},
	})
}
