package cassandrastore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// appending is one Append under way.
type appending struct {
	store    *Store
	working  *provision.Working
	tenant   *rows.Tenant
	received andon.Time
	stamp    int64
	index    *rows.Index
	devices  []*deviceAppend
	log      []cql.Mutation     // the entries and what each device shows
	unsure   []shared.Partition // to be counted
}

// deviceAppend is what it does to one device.
type deviceAppend struct {
	events  []andon.Event
	answers []andon.PersonID // who answers for each of events
	slot    *slot
	was, is *view
	// changed says that the device's state must be noted for lists by state: it is new, or no
	// process is known to have done so.
	changed       bool
	run, incident shared.NewStart
	// escalates says that its newest escalation may be another one afterwards.
	escalates bool
}

// Append is of andon.Log. The entries of one partition are written in one piece; a request is not.
func (s *Store) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	if len(events) == 0 {
		_, err := s.tenant(ctx, id)
		return err
	}
	for len(events) > 0 {
		n := min(len(events), eventsAtOnce)
		for n < len(events) && events[n].Device == events[n-1].Device {
			n++
		}
		if err := s.appendPart(ctx, id, received, events[:n]); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

// appendPart keeps one part within Options.Timeout, whatever it waits for.
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
		err = s.append(ctx, t, received, rows.WithKeys(t.Purged, events, deviceOfEvent))
	}
	return cql.Failure("append", err)
}

// eventsAtOnce is how many events of a request are under way at once, and those of the last device
// on top. It keeps the time from looking at a device to the end of writing to it short.
const eventsAtOnce = 2000

// append keeps events of whole devices. What takes too long is given up: others might conclude from
// not seeing it.
func (s *Store) append(
	ctx context.Context, t *rows.Tenant, received andon.Time, events []andon.Event,
) error {
	w := s.working.Load()
	a := &appending{
		store: s, working: w, tenant: t, received: received, stamp: s.stamp(),
		index: s.newIndexRows(t.Key, s.ttl(w.Retention)),
	}
	var ids []andon.DeviceID
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Device == events[0].Device {
			n++
		}
		a.devices = append(a.devices, &deviceAppend{events: events[:n:n]})
		ids = append(ids, events[0].Device)
		events = events[n:]
	}
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	slots, err := s.take(ctx, t.Key, ids...)
	if err != nil {
		return err
	}
	defer slots.Give()
	a.tenant, err = s.again(ctx, t, ids)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.appendWithin())
	defer cancel()
	if err := a.run(ctx, slots); err != nil {
		slots.Forget()
		return err
	}
	return nil
}

// again returns a tenant as it is after waiting, unless an incarnation of it, or of one of its
// devices, ended meanwhile.
func (s *Store) again(
	ctx context.Context, t *rows.Tenant, ids []andon.DeviceID,
) (*rows.Tenant, error) {
	now, err := s.tenant(ctx, t.Record.ID)
	switch {
	case err != nil:
		return nil, err
	case now.Key != t.Key:
		return nil, andon.NoTenant(t.Record.ID)
	case now.Purged == t.Purged:
		return now, nil
	}
	for _, id := range ids {
		if !now.Purged.Present(id) {
			return nil, andon.Errorf(andon.Unavailable,
				"device %q was purged meanwhile: send it again", rows.IDOf(id))
		}
	}
	return now, nil
}

// freshFor is how old a view may be that an append works from: what another process wrote later is
// not in it. With the time that the append may take it must stay below Options.Settle.
func (o Options) freshFor() time.Duration { return min(time.Second, o.Settle/2) }

// appendWithin is how long an append of one part may take.
func (o Options) appendWithin() time.Duration { return o.Settle / 2 }

func (a *appending) run(ctx context.Context, slots *taken) error {
	began := a.store.processes.now()
	if err := a.store.views(ctx, a.tenant, slots, a.store.options.freshFor()); err != nil {
		return err
	}
	err := shared.Parallel(ctx, len(a.devices), func(ctx context.Context, i int) (err error) {
		d := a.devices[i]
		d.slot, d.was = slots.Slots[i], slots.Slots[i].View
		d.answers, err = a.answering(ctx, d)
		return err
	})
	if err != nil {
		return err
	}
	for _, d := range a.devices {
		a.prepare(d)
	}
	// Index rows before starts: a start says that the index rows of the run were kept.
	if err := a.index.Write(ctx, a.log...); err != nil {
		return err
	}
	if err := a.writeStarts(ctx); err != nil {
		return err
	}
	if err := a.store.inTime(began, a.store.options.appendWithin()); err != nil {
		return err
	}
	for _, d := range a.devices {
		a.finish(d)
	}
	a.store.countRows(ctx, a.unsure)
	return nil
}

// prepare works out what is written for a device.
func (a *appending) prepare(d *deviceAppend) {
	states := a.tenant.Record.States
	d.is = d.was.clone()
	for _, e := range d.newest() {
		d.is.Raise(a.remembered(e))
	}
	d.is.Received = max(d.is.Received, a.received)
	a.grow(d)
	a.entries(d)
	a.shown(d)
	if !d.is.Alive(states) {
		return
	}
	known := d.was.NewestKey(states)
	severities := a.tenant.Gen()
	d.run, d.incident = d.is.Starts(&d.was.Latest, severities, states, d.firstBehind(states))
	d.changed = !d.was.Run.Begins(d.is.Generation(severities), d.run.Base)
	if d.changed {
		a.store.listedDevices.Add(a.tenant.Key, d.events[0].Device)
	}
	newer := d.is.NewestKey(states).Compare(known) > 0
	for _, design := range a.working.Writes {
		if d.changed || (newer && design.OneRow()) {
			a.log = append(a.log, design.Add(placeOf(a.tenant, d.events[0].Device, d.is)))
		}
	}
}

// contentRemembered is the most bytes of an entry's content that are kept in memory.
const contentRemembered = 512

// remembered is an entry as views have it. It is a copy: the event may be a part of a request.
func (a *appending) remembered(e *andon.Event) shared.Newest {
	n := shared.Newest{State: e.State, Time: e.Time}
	o, m := len(e.Operator), len(e.Operator)+len(e.Message)
	if m+len(e.Attributes) > contentRemembered {
		return n
	}
	// Not joined by +, which copies nothing where all but one are empty.
	text := strings.Join([]string{string(e.Operator), e.Message, string(e.Attributes)}, "")
	n.Known = true
	n.Content = shared.Content{
		Delivery: a.stamp, Operator: andon.PersonID(text[:o]), Message: text[o:m],
		Attributes: andon.JSON(text[m:]),
	}
	return n
}

// valid returns the events but those that were withdrawn before.
func (d *deviceAppend) valid() []andon.Event {
	withdrawn := func(e andon.Event) bool { return d.is.IsWithdrawn(e.State, e.Time) }
	if len(d.is.Withdrawn) == 0 || !slices.ContainsFunc(d.events, withdrawn) {
		return d.events
	}
	return slices.DeleteFunc(slices.Clone(d.events), withdrawn)
}

// newest returns the newest valid event of each state.
func (d *deviceAppend) newest() []*andon.Event {
	events := d.valid()
	if len(events) == 1 {
		return []*andon.Event{&events[0]}
	}
	at := map[andon.State]int{}
	var found []*andon.Event
	for i := range events {
		e := &events[i]
		n, ok := at[e.State]
		if !ok {
			n = len(found)
			at[e.State], found = n, append(found, nil)
		}
		found[n] = e // they stand in the order of the log
	}
	return found
}

// firstBehind tells the time of the first valid entry of the request strictly behind a key; 0 where
// there is none. They stand in the order of time.
func (d *deviceAppend) firstBehind(states *andon.StateSet) func(andon.EventKey) andon.Time {
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

// entries writes the log: the entries of one day and shard in one piece, unless that is large.
func (a *appending) entries(d *deviceAppend) {
	type piece struct {
		day   uint32
		shard int
	}
	open := map[piece]int{} // where in parts
	var parts []cql.Mutation
	var sizes []int
	for i := range d.events {
		e := &d.events[i]
		p := piece{e.Time.Day(), shared.ShardOf(e.Time, e.State, d.is.shards)}
		at, ok := open[p]
		if !ok || sizes[at] > rows.BatchBytes || len(parts[at]) >= rows.BatchRows {
			at = len(parts)
			open[p], parts, sizes = at, append(parts, nil), append(sizes, 0)
		}
		parts[at] = append(parts[at], rows.InsertEntry(a.tenant.Key, a.stamp, a.index.Ttl, e, p.shard))
		sizes[at] += rows.EntrySize(e)
		a.index.Partition(rows.OfEvents, string(e.Device), p.day, shared.ShardsOf(d.is.shards),
			d.is.labelOf(e.State), e.Time)
		a.index.State(string(e.State))
		if d.answers[i] != "" {
			a.index.Operator(string(d.answers[i]), string(e.Device), e.Time)
		}
		if e.EscalatedTo != "" {
			d.escalates = true
			record := andon.Escalation{
				Device: e.Device, Time: e.Time, State: e.State, At: e.Time, To: e.EscalatedTo,
			}
			parts[at] = append(parts[at], rows.InsertEscalation(
				a.tenant.Key, a.stamp, a.index.Ttl, record, p.shard))
			a.log = append(a.log, a.escalated(record)...)
		}
	}
	a.log = append(a.log, parts...)
	a.index.Device(string(d.events[0].Device))
}

// shown writes the newest entry of each state, and that the device was heard. What is known to be
// older than what is there is left out; what only may be loses by its timestamp.
func (a *appending) shown(d *deviceAppend) {
	key, device := a.tenant.Key, string(d.events[0].Device)
	m := cql.One(
		"UPDATE latest_by_device USING TIMESTAMP ? SET heard = ? WHERE tenant = ? AND device = ?",
		int64(a.received), int64(a.received), key, device)
	for _, e := range d.newest() {
		if !slices.ContainsFunc(d.is.States, func(l shared.Newest) bool {
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

// writeStarts writes the starts that changed, which is rare: a device changed its state, or a late
// entry came into the present run or incident.
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
		for _, m := range []*shared.NewStart{&d.run, &d.incident} {
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
		starts[i] = startsToWrite(a.tenant.Key, device, d.run, d.incident)
		return nil
	})
	if err != nil {
		return err
	}
	empty := func(m cql.Mutation) bool { return len(m) == 0 }
	return a.store.db.Write(ctx, slices.DeleteFunc(starts, empty))
}

// startsToWrite writes those that are to be written.
func startsToWrite(
	tenant string, device andon.DeviceID, run, incident shared.NewStart,
) (m cql.Mutation) {
	if run.Write {
		m = append(m, cql.Do(
			"UPDATE latest_by_device USING TIMESTAMP ? SET run = ? WHERE tenant = ? AND device = ?",
			rows.StartStamp(run.Start), rows.PackStart(run.Start), tenant, string(device)))
	}
	if incident.Write {
		m = append(m, cql.Do(
			"UPDATE latest_by_device USING TIMESTAMP ? SET incident = ? "+
				"WHERE tenant = ? AND device = ?",
			rows.StartStamp(incident.Start), rows.PackStart(incident.Start), tenant, string(device)))
	}
	return m
}

// statesRemembered bounds the memory that a device with ever new states can take.
const statesRemembered = 256

// small reports whether a view may be remembered.
func (v *view) small() bool { return len(v.States)+len(v.Withdrawn) <= statesRemembered }

// finish takes note of what is now acknowledged.
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
		a.received)
	if !d.changed && !d.run.Write && !d.incident.Write {
		return
	}
	var former andon.State
	if n := d.was.Newest(states); n != nil {
		former = n.State
	}
	a.store.reviews.Add(shared.DueReview{
		Tenant: a.tenant.Record.ID, Device: device, Former: former,
		Due:    a.store.now().Add(a.store.options.Settle),
		Review: shared.Review{Run: d.is.Run.Base, Incident: d.is.Incident.Base, Gen: gen},
	})
}
