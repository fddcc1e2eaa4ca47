package dynamostore

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/shared"
)

// event is an entry of the log as it is stored, without its escalation.
type event struct {
	andon.Event
	delivery int64 // of two deliveries of one entry in two shards the later wins
}

const (
	attrDelivery   = "Delivery"
	attrMessage    = "Message"
	attrAttributes = "Attributes"
)

func logKeys() ddb.Keys { return ddb.Keys{Hash: attrDevice, Sort: attrStateDate} }

func (e *event) micros() int64 { return int64(e.Time) }

func (e *event) ref() andon.EntryRef { return andon.EntryRef{Time: e.Time, State: e.State} }

// item returns what is stored of an event in one of n shards.
func (e *event) item(t *tenant, d *device, n int, expires expiry) ddb.Item {
	sort := stateDate(e.State, e.Time)
	i := logKeys().Item(shardKey(d.rows(t), shardOf(sort, n)), sort)
	i[attrDate], i[attrDelivery] = ddb.Text(timeText(e.Time)), ddb.Number(e.delivery)
	if e.Operator != "" {
		i[attrOperator] = ddb.Text(join(t.Key, string(e.Operator)))
	}
	i.SetText(attrMessage, e.Message)
	i.SetText(attrAttributes, string(e.Attributes))
	expires.set(i, e.Time)
	return i
}

// readEvent reads an entry.
func readEvent(i ddb.Item) (e event, ok bool, err error) {
	ref, _, err := splitStateDate(i.Text(attrStateDate))
	if err != nil {
		return e, false, err
	}
	_, device := splitDevice(i.Text(attrDevice))
	_, operator := splitDevice(i.Text(attrOperator))
	return event{
		Event: andon.Event{
			Device: device, Time: ref.Time, State: ref.State, Operator: andon.PersonID(operator),
			Message: i.Text(attrMessage), Attributes: andon.JSON(i.Text(attrAttributes)),
		},
		delivery: i.Int(attrDelivery),
	}, true, nil
}

// expiry is after how long the service deletes.
type expiry andon.Retention

// set sets when an item expires, in whole seconds, rounded up.
func (e expiry) set(i ddb.Item, at andon.Time) {
	if andon.Retention(e) != andon.Forever {
		i[attrTTL] = ddb.Number((int64(at)+int64(e))/1e6 + 1)
	}
}

// stateRange returns the query for entries, or their records, of one state in a span.
func (s *Store) stateRange(partition string, state andon.State, span andon.Span) ddb.Query {
	q := ddb.Query{Table: tableLog, Key: logKeys(), Partition: partition}
	return inState(q, state, span)
}

// inState bounds a sort key that begins with <state>#<time>.
func inState(q ddb.Query, state andon.State, span andon.Span) ddb.Query {
	to := span.To
	if to == 0 {
		to = andon.MaxTime
	}
	q.From = stateDate(state, span.From)
	q.To = stateDate(state, min(to, andon.MaxTime))
	return q
}

// entriesOf returns the entries of a device in one state, from each of its shards.
func (s *Store) entriesOf(
	t *tenant, d *device, state andon.State, q andon.EventQuery, page int,
) (all []*shared.Rows[event]) {
	key := d.rows(t)
	for shard := range d.shards() {
		ask := s.stateRange(shardKey(key, shard), state, q.Rest())
		ask.Order, ask.Page = q.Order, page
		all = append(all, ddb.Rows(s.db, ask, readEvent))
	}
	return all
}

// entries returns the entries of a device that a query selects, withdrawn or not, in its order, and
// does not stop at the limit.
func (s *Store) entries(
	ctx context.Context, t *tenant, d *device, q andon.EventQuery,
) iter.Seq2[event, error] {
	var all []*shared.Rows[event]
	var states []andon.State
	for _, state := range d.States {
		if q.States.Match(state) {
			states = append(states, state)
		}
	}
	page := pageOf(q.Limit, len(states)*d.shards())
	for _, state := range states {
		all = append(all, s.entriesOf(t, d, state, q, page)...)
	}
	if q.Span.Empty() {
		all = nil
	}
	return merged(ctx, all, t, q)
}

// pageOf returns the page size of each of n queries for one list.
func pageOf(limit, n int) int { return min(max(2*limit/max(n, 1), 16), limit+1, ddb.MaxPage) }

// merged returns the entries of several queries in one order of time, each identity once.
func merged(
	ctx context.Context, all []*shared.Rows[event], t *tenant, q andon.EventQuery,
) iter.Seq2[event, error] {
	states := t.Record.States
	return seq.Of(func(yield func(event) bool) error {
		for found, err := range shared.Instants(ctx, all, (*event).micros, q.Order) {
			if err != nil {
				return err
			}
			for _, e := range distinct(found, states, q.Order) {
				if q.Admits(e.Key(states)) && !yield(e) {
					return nil
				}
			}
		}
		return nil
	})
}

// distinct sorts entries, and keeps the later delivery of each.
func distinct(found []event, states *andon.StateSet, o andon.Order) []event {
	slices.SortFunc(found, func(a, b event) int {
		c := a.Key(states).Compare(b.Key(states))
		if o == andon.Desc {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(b.delivery, a.delivery))
	})
	return slices.CompactFunc(found, func(a, b event) bool {
		return a.Device == b.Device && a.Time == b.Time && a.State == b.State
	})
}

// DeviceEvents implements andon.Log.
func (s *Store) DeviceEvents(
	ctx context.Context, owner andon.TenantID, id andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	ctx = s.forAnswer(ctx)
	return listOfDevice(ctx, s, owner, id, func(
		t *tenant, d *device, yield func(andon.Event) bool,
	) error {
		each := func(*andon.Event) bool { return true }
		found := s.entries(ctx, t, d, q)
		return s.completing(t, d).answer(ctx, q.Limit, found, false, each, yield)
	})
}

// answer yields entries as they are shown: without those that are withdrawn, and each with whom it
// is escalated to. It completes them in pieces, and then leaves out what is not wanted. With
// recheck, what an index found is first read from the table.
func (c *completing) answer(
	ctx context.Context, left int, found iter.Seq2[event, error], recheck bool,
	wanted func(*andon.Event) bool, yield func(andon.Event) bool,
) error {
	size := func() int { return min(left, 256) }
	return inPieces(found, size, func(piece []event) (more bool, err error) {
		if recheck {
			if piece, err = c.recheck(ctx, piece); err != nil {
				return false, err
			}
		}
		all, err := c.complete(ctx, piece)
		for i := range all {
			if !wanted(&all[i]) {
				continue
			}
			if left--; !yield(all[i]) || left == 0 {
				return false, nil
			}
		}
		return true, err
	})
}

// inPieces calls do with a list in pieces of a size, until it wants no more.
func inPieces(
	found iter.Seq2[event, error], size func() int, do func([]event) (more bool, err error),
) error {
	var piece []event
	for e, err := range found {
		if err != nil {
			if more, failed := do(piece); failed != nil || !more {
				return failed
			}
			return err
		}
		if piece = append(piece, e); len(piece) < size() {
			continue
		}
		if more, err := do(piece); err != nil || !more {
			return err
		}
		piece = piece[:0]
	}
	_, err := do(piece)
	return err
}

// completing knows the devices of the entries of one answer.
type completing struct {
	store   *Store
	tenant  *tenant
	devices map[andon.DeviceID]*device
}

// completing begins with devices that are known.
func (s *Store) completing(t *tenant, known ...*device) *completing {
	c := &completing{store: s, tenant: t, devices: map[andon.DeviceID]*device{}}
	for _, d := range known {
		c.devices[d.ID] = d
	}
	return c
}

// complete returns the entries of a piece that are shown.
func (c *completing) complete(ctx context.Context, piece []event) (shown []andon.Event, err error) {
	if err := c.learn(ctx, piece); err != nil {
		return nil, err
	}
	s, t := c.store, c.tenant
	var withdrawn, escalated []mark
	for i := range piece {
		e := &piece[i]
		d := c.devices[e.Device]
		if d.Withdrawn.covers(e.Time) {
			withdrawn = append(withdrawn, withdrawalMark(t, d, e.ref()))
		}
		if d.EverEscalated.covers(e.Time) {
			escalated = append(escalated, latestMark(t, d, e.ref()))
		}
	}
	hidden, err := s.readMarked(ctx, s.record(""), withdrawn)
	if err != nil {
		return nil, err
	}
	records, err := s.latestMarked(ctx, escalated)
	if err != nil {
		return nil, err
	}
	for i := range piece {
		e := &piece[i]
		d := c.devices[e.Device]
		if !d.Known() || len(hidden) > 0 && hidden[withdrawalMark(t, d, e.ref())] != nil {
			continue
		}
		if len(records) > 0 {
			r := records[latestMark(t, d, e.ref())]
			if e.EscalatedTo = r.To; r.To != "" {
				andon.NoteEscalation(ctx, r.Escalation)
			}
		}
		shown = append(shown, e.Event)
	}
	return shown, nil
}

// mark names an item about an entry, in a partition whose sort key is <state>#<time>.
type mark struct {
	partition string
	andon.EntryRef
}

// markItems is about how many such items a read unit has.
const markItems = 32

// readMarked reads the items of some marks, of the table and the key of a query. A mark alone in
// its partition and state is read by its key. Several are read by a query from the first to the
// last, unless so many items are between them that reading by key costs less.
func (s *Store) readMarked(
	ctx context.Context, of ddb.Query, marks []mark,
) (found map[mark]ddb.Item, err error) {
	if len(marks) == 0 {
		return nil, nil
	}
	type part struct {
		partition string
		state     andon.State
	}
	parts := map[part][]mark{}
	for _, m := range shared.Distinct(marks) {
		p := part{m.partition, m.State}
		parts[p] = append(parts[p], m)
	}
	var keys []ddb.Item
	var several [][]mark
	for _, some := range parts {
		if len(some) > 1 {
			several = append(several, some)
			continue
		}
		keys = append(keys, some[0].key(of))
	}
	pages := make([][]ddb.Item, len(several))
	err = shared.Parallel(ctx, len(several), func(ctx context.Context, i int) (err error) {
		pages[i], err = s.markedSpan(ctx, of, several[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	all, err := s.db.BatchGet(ctx, of.Table, keys)
	found = map[mark]ddb.Item{}
	for _, i := range append(slices.Concat(pages...), all...) {
		ref, _, err := splitStateDate(i.Text(of.Key.Sort))
		if err != nil {
			return nil, err
		}
		found[mark{i.Text(of.Key.Hash), ref}] = i
	}
	return found, err
}

func (m *mark) key(of ddb.Query) ddb.Item {
	return of.Key.Item(m.partition, stateDate(m.State, m.Time))
}

// markedSpan reads the items of marks of one partition and state.
func (s *Store) markedSpan(ctx context.Context, of ddb.Query, marks []mark) ([]ddb.Item, error) {
	of.Partition, of.Page = marks[0].partition, markItems*len(marks)
	var span reach
	keys := make([]ddb.Item, len(marks))
	for i, m := range marks {
		span.add(m.Time)
		keys[i] = m.key(of)
	}
	q := inState(of, marks[0].State, andon.Span{From: span.From, To: span.To})
	found, next, err := s.db.Page(ctx, q, nil)
	if err != nil || next == nil {
		return found, err
	}
	return s.db.BatchGet(ctx, of.Table, keys)
}

// learn reads the devices of a piece that are not known yet.
func (c *completing) learn(ctx context.Context, piece []event) error {
	var ids []andon.DeviceID
	for i := range piece {
		if id := piece[i].Device; c.devices[id] == nil {
			ids = append(ids, id)
			c.devices[id] = &device{}
		}
	}
	all, err := c.store.readDevices(ctx, c.tenant, ids)
	if err != nil {
		return err
	}
	for _, d := range all {
		c.devices[d.ID] = d
	}
	return nil
}

// Entry implements andon.Log.
func (s *Store) Entry(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	ctx = s.forAnswer(ctx)
	t, d, err := s.find(ctx, id, device)
	if err != nil {
		return andon.Entry{}, err
	}
	return s.entry(ctx, t, d, at, state)
}

// entry reads one entry with its records.
func (s *Store) entry(
	ctx context.Context, t *tenant, d *device, at andon.Time, state andon.State,
) (is andon.Entry, err error) {
	found, err := s.events(ctx, t, d, []andon.EntryRef{{Time: at, State: state}})
	if err != nil {
		return is, err
	}
	if len(found) == 0 {
		return is, andon.NoEntry(d.ID, at, state)
	}
	is.Event = found[0].Event
	if is.Escalations, err = s.escalations(ctx, t, d, at, state); err != nil {
		return is, err
	}
	is.EscalatedTo = is.Standing().To
	if d.Withdrawn.covers(at) {
		is.Withdrawn, err = s.withdrawal(ctx, t, d, at, state)
	}
	return is, err
}

// events reads entries of a device as they are now; those that are not there are left out.
func (s *Store) events(
	ctx context.Context, t *tenant, d *device, refs []andon.EntryRef,
) ([]event, error) {
	var places []ddb.Item
	for _, ref := range refs {
		places = append(places, s.places(t, d, ref)...)
	}
	return s.eventsAt(ctx, t, places)
}

// places returns the keys that an entry can have.
func (s *Store) places(t *tenant, d *device, ref andon.EntryRef) (all []ddb.Item) {
	key, sort := d.rows(t), stateDate(ref.State, ref.Time)
	for _, shard := range shardsOf(sort, d.shards()) {
		all = append(all, logKeys().Item(shardKey(key, shard), sort))
	}
	return all
}

// eventsAt reads entries by their places, each once, in no particular order.
func (s *Store) eventsAt(ctx context.Context, t *tenant, places []ddb.Item) ([]event, error) {
	items, err := s.db.BatchGet(ctx, tableLog, places)
	if err != nil {
		return nil, err
	}
	var found []event
	for _, i := range items {
		e, _, err := readEvent(i)
		if err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return distinct(found, t.Record.States, andon.Desc), nil
}
