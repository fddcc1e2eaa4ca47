package cassandrastore

import (
	"context"
	"slices"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// appending is one Append under way.
type appending struct {
	store    *Store
	working  *working
	tenant   *tenant
	received andon.Time
	stamp    int64
	index    *indexRows
	devices  []*deviceAppend
	log      []mutation         // the entries and what each device shows
	unsure   []shared.Partition // to be counted
}

// deviceAppend is what it does to one device.
type deviceAppend struct {
	events  []andon.Event
	answers []andon.PersonID // who answers for each of events
	slot    *slot
	was, is *view
	// entered says that the device's state must be noted for lists by state: it is new, or nobody
	// is known to have done so.
	entered bool
	run     newMark
	calm    newMark // of the incident
	// escalates says that its newest escalation may be another one afterwards.
	escalates bool
}

// newMark is a mark that is to be written.
type newMark struct {
	mark
	write bool
	seek  bool // first is only known to be no later: entries that were there before count too
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
		return failure("append", err)
	}
	appends := s.tenants.appendsOf(id)
	if err := appends.RLock(ctx); err != nil {
		return failure("append", err)
	}
	defer appends.RUnlock()
	t, err := s.tenant(ctx, id) // waiting may have taken long
	if err == nil {
		err = s.append(ctx, t, received, events)
	}
	return failure("append", err)
}

// eventsAtOnce is how many events of a request are under way at once, and those of the last device
// on top. It keeps the time from looking at a device to the end of writing to it short.
const eventsAtOnce = 2000

// append keeps events of whole devices. What takes too long is given up: others might conclude from
// not seeing it.
func (s *Store) append(
	ctx context.Context, t *tenant, received andon.Time, events []andon.Event,
) error {
	w := s.working.Load()
	a := &appending{
		store: s, working: w, tenant: t, received: received, stamp: s.stamp(),
		index: s.newIndexRows(t.key, s.ttl(w.Retention)),
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
	slots, err := s.take(ctx, t.key, ids...)
	if err != nil {
		return err
	}
	defer slots.Give()
	if a.tenant, err = s.tenant(ctx, t.record.ID); err == nil && a.tenant.key != t.key {
		err = andon.NoTenant(t.record.ID) // its next life began
	}
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

// freshFor is how old a view may be that an append works from: what another process wrote later is
// not in it. With the time that the append may take it must stay below Options.Settle.
func (o Options) freshFor() time.Duration { return min(time.Second, o.Settle/2) }

// appendWithin is how long an append of one part may take.
func (o Options) appendWithin() time.Duration { return o.Settle / 2 }

func (a *appending) run(ctx context.Context, slots *taken) error {
	began := a.store.processes.now()
	if err := a.store.views(ctx, slots, a.store.options.freshFor()); err != nil {
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
	// Index rows before marks: a mark says that the index rows of the run were kept.
	if err := a.index.write(ctx, a.log...); err != nil {
		return err
	}
	if err := a.mark(ctx); err != nil {
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
	states := a.tenant.record.States
	d.is = d.was.clone()
	for _, e := range d.newest() {
		d.is.raise(a.last(e))
	}
	d.is.heard = max(d.is.heard, a.received)
	a.grow(d)
	a.entries(d)
	a.shown(d)
	if !d.is.alive(states) {
		return
	}
	known := d.was.newestKey(states)
	gen := a.tenant.generation(d.is)
	d.run = d.newMark(d.was.run, gen, d.is.runBase(states), known, states)
	if base, open := d.is.incidentBase(states); open {
		d.calm = d.newMark(d.was.incident, gen, base, known, states)
	}
	d.entered = !d.was.run.begins(gen, d.run.base)
	if d.entered {
		a.store.gathered.enter(a.tenant.key, d.events[0].Device)
	}
	newer := d.is.newestKey(states).Compare(known) > 0
	for _, design := range a.working.writes {
		if d.entered || (newer && design.oneRow()) {
			a.log = append(a.log, design.enter(placeOf(a.tenant, d.events[0].Device, d.is)))
		}
	}
}

// contentRemembered is the most bytes of an entry's content that are kept in memory.
const contentRemembered = 512

// last is an entry as views have it. It is a copy: the event may be a part of a request.
func (a *appending) last(e *andon.Event) last {
	l := last{state: e.State, time: e.Time}
	o, m := len(e.Operator), len(e.Operator)+len(e.Message)
	if m+len(e.Attributes) > contentRemembered {
		return l
	}
	text := string(e.Operator) + e.Message + string(e.Attributes)
	l.whole = true
	l.entry = entry{
		delivery: a.stamp, operator: text[:o], message: text[o:m], attributes: text[m:],
	}
	return l
}

// newest returns the newest event of each state.
func (d *deviceAppend) newest() []*andon.Event {
	if len(d.events) == 1 {
		return []*andon.Event{&d.events[0]}
	}
	at := map[andon.State]int{}
	var found []*andon.Event
	for i := range d.events {
		e := &d.events[i]
		n, ok := at[e.State]
		if !ok {
			n = len(found)
			at[e.State], found = n, append(found, nil)
		}
		found[n] = e // they stand in the order of the log
	}
	return found
}

// newMark returns the mark behind a base, where known is the newest entry that was there before.
func (d *deviceAppend) newMark(
	was mark, gen generation, base, known andon.EventKey, states *andon.StateSet,
) newMark {
	mine := d.firstBehind(base, states)
	if was.begins(gen, base) {
		if mine == 0 || mine >= was.first {
			return newMark{mark: was}
		}
		was.first = mine
		return newMark{mark: was, write: true}
	}
	mine = andon.Earlier(mine, was.recalls(gen, base))
	m := newMark{mark: mark{gen: gen, base: base, first: mine}, write: true}
	m.seek = known.Compare(base) > 0
	return m
}

// firstBehind returns the time of the first entry of the request strictly behind a key; 0 where
// there is none. They stand in the order of the log.
func (d *deviceAppend) firstBehind(base andon.EventKey, states *andon.StateSet) andon.Time {
	base.Device = ""
	for i := range d.events {
		key := d.events[i].Key(states)
		key.Device = ""
		if key.Compare(base) > 0 {
			return key.Time
		}
	}
	return 0
}

// entries writes the log: the entries of one day and shard in one piece, unless that is large.
func (a *appending) entries(d *deviceAppend) {
	type piece struct {
		day   uint32
		shard int
	}
	open := map[piece]int{} // where in parts
	var parts []mutation
	var sizes []int
	for i := range d.events {
		e := &d.events[i]
		p := piece{e.Time.Day(), shared.ShardOf(e.Time, e.State, d.is.shards)}
		at, ok := open[p]
		if !ok || sizes[at] > pieceBytes || len(parts[at]) >= pieceRows {
			at = len(parts)
			open[p], parts, sizes = at, append(parts, nil), append(sizes, 0)
		}
		parts[at] = append(parts[at], a.entry(e, p.shard))
		sizes[at] += entrySize(e)
		a.index.exists(ofEvents, string(e.Device), p.day, shared.ShardsOf(d.is.shards),
			d.is.labelOf(e.State), e.Time)
		a.index.state(string(e.State))
		if d.answers[i] != "" {
			a.index.operator(string(d.answers[i]), string(e.Device), e.Time)
		}
		if e.EscalatedTo != "" {
			d.escalates = true
			record := andon.Escalation{
				Device: e.Device, Time: e.Time, State: e.State, At: e.Time, To: e.EscalatedTo,
			}
			parts[at] = append(parts[at], a.escalation(record, p.shard))
			a.log = append(a.log, a.escalated(record)...)
		}
	}
	a.log = append(a.log, parts...)
	a.index.device(string(d.events[0].Device))
}

// One piece has at most so many rows, and its bytes are not many more than these.
const (
	pieceRows  = 200
	pieceBytes = 24 << 10
)

// entrySize is about what an entry takes in its partition.
func entrySize(e *andon.Event) int { return 64 + len(e.Message) + len(e.Attributes) }

func (a *appending) entry(e *andon.Event, shard int) order {
	return order{
		"INSERT INTO events_by_device (tenant, device, day, shard, time, state, at, supervisor, " +
			"entry) VALUES (?, ?, ?, ?, ?, ?, 0, '', ?) USING TIMESTAMP ? AND TTL ?",
		[]any{a.tenant.key, string(e.Device), int(e.Time.Day()), shard, int64(e.Time),
			string(e.State), packEntry(a.stamp, e), a.stamp, a.index.ttl.seconds(e.Time)},
	}
}

// escalation is an escalation beside its entry.
func (a *appending) escalation(r andon.Escalation, shard int) order {
	return order{
		"INSERT INTO events_by_device (tenant, device, day, shard, time, state, at, supervisor, " +
			"record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ? AND TTL ?",
		[]any{a.tenant.key, string(r.Device), int(r.Time.Day()), shard, int64(r.Time),
			string(r.State), int64(r.At), string(r.To), packRecord(&r),
			a.stamp, a.index.ttl.seconds(r.Time)},
	}
}

// shown writes the newest entry of each state, and that the device was heard. What is known to be
// older than what is there is left out; what only may be loses by its timestamp.
func (a *appending) shown(d *deviceAppend) {
	key, device := a.tenant.key, string(d.events[0].Device)
	m := mutation{{
		"UPDATE latest_by_device USING TIMESTAMP ? SET heard = ? WHERE tenant = ? AND device = ?",
		[]any{int64(a.received), int64(a.received), key, device},
	}}
	for _, e := range d.newest() {
		if !slices.ContainsFunc(d.is.states, func(l last) bool {
			return l.state == e.State && l.time == e.Time
		}) {
			continue
		}
		if len(m) >= pieceRows {
			a.log, m = append(a.log, m), nil
		}
		m = append(m, order{
			"INSERT INTO latest_by_device (tenant, device, state, time, entry) " +
				"VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?",
			[]any{key, device, string(e.State), int64(e.Time), packEntry(a.stamp, e),
				int64(e.Time)},
		})
	}
	a.log = append(a.log, m)
}

// mark writes the marks that changed, which is rare: a device entered another state, or a late
// entry came into the present run or incident.
func (a *appending) mark(ctx context.Context) error {
	var changed []*deviceAppend
	for _, d := range a.devices {
		if d.run.write || d.calm.write {
			changed = append(changed, d)
		}
	}
	marks := make([]mutation, len(changed))
	err := shared.Parallel(ctx, len(changed), func(ctx context.Context, i int) error {
		d := changed[i]
		device := d.events[0].Device
		for _, m := range []*newMark{&d.run, &d.calm} {
			if !m.seek {
				continue
			}
			first, err := a.store.first(ctx, a.tenant, device, m.base)
			if err != nil {
				return err
			}
			m.first = andon.Earlier(m.first, first)
			m.write = m.first != 0 // else the log has expired there
		}
		marks[i] = a.store.marks(a.tenant.key, device, d.run, d.calm)
		return nil
	})
	if err != nil {
		return err
	}
	empty := func(m mutation) bool { return len(m) == 0 }
	return a.store.write(ctx, slices.DeleteFunc(marks, empty))
}

// marks writes those that are to be written.
func (s *Store) marks(tenant string, device andon.DeviceID, run, calm newMark) (m mutation) {
	if run.write {
		m = append(m, order{
			"UPDATE latest_by_device USING TIMESTAMP ? SET run = ? WHERE tenant = ? AND device = ?",
			[]any{run.stamp(), run.pack(), tenant, string(device)},
		})
	}
	if calm.write {
		m = append(m, order{
			"UPDATE latest_by_device USING TIMESTAMP ? SET incident = ? " +
				"WHERE tenant = ? AND device = ?",
			[]any{calm.stamp(), calm.pack(), tenant, string(device)},
		})
	}
	return m
}

// statesRemembered bounds the memory that a device with ever new states can take.
const statesRemembered = 256

// finish takes note of what is now acknowledged.
func (a *appending) finish(d *deviceAppend) {
	states := a.tenant.record.States
	if d.run.write {
		d.is.run = d.run.mark
	}
	if d.calm.write {
		d.is.incident = d.calm.mark
	}
	d.is.keepNewest(states)
	if d.slot.View = d.is; len(d.is.states) > statesRemembered || d.escalates {
		d.slot.View = nil
	}
	device := d.events[0].Device
	if n := d.is.newest(states); n != nil {
		a.store.counts.raise(a.tenant, device, n.key(states), d.is.retired, a.received)
	}
	if !d.entered && !d.run.write && !d.calm.write {
		return
	}
	var former andon.State
	if n := d.was.newest(states); n != nil {
		former = n.state
	}
	a.store.again.later(lookAt{
		tenant: a.tenant.record.ID, device: device, former: former,
		due: a.store.now().Add(a.store.options.Settle),
		run: d.is.run.base, calm: d.is.incident.base,
	})
}
