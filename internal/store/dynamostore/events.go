package dynamostore

import (
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
)

func entriesOf(d *device, state andon.State, span andon.Span) (all []ddb.Query) {
	for _, part := range d.Parts() {
		all = append(all, items.StateRange(part, state, span))
	}
	return all
}

// entries returns the entries of a device that a query selects, withdrawn or not, in its order, and
// does not stop at the limit.
func (s *Store) entries(
	ctx context.Context, d *device, q andon.EventQuery,
) iter.Seq2[event, error] {
	all := inStates(d.States, q, func(state andon.State) []ddb.Query {
		return entriesOf(d, state, q.Rest())
	})
	return items.Found(ctx, s.db, d.Tenant, q, all, items.ReadEvent)
}

func inStates(
	states []andon.State, q andon.EventQuery, ask func(andon.State) []ddb.Query,
) (all []ddb.Query) {
	for _, state := range states {
		if q.States.Match(state) {
			all = append(all, ask(state)...)
		}
	}
	return all
}

// DeviceEvents implements andon.Log.
func (s *Store) DeviceEvents(
	ctx context.Context, owner andon.TenantID, id andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	ctx = s.forAnswer(ctx)
	return listOfDevice(ctx, s, owner, id, func(d *device, yield func(andon.Event) bool) error {
		each := func(*andon.Event) bool { return true }
		found := s.entries(ctx, d, q)
		return s.completing(d.Tenant, d).answer(ctx, q.Limit, found, false, each, yield)
	})
}

// answer yields entries as they are shown: without those that are withdrawn, and each with whom it
// is escalated to. It completes them in pieces, and then leaves out what is not wanted. With
// recheck, what an index found is first read from the table.
func (c *completing) answer(
	ctx context.Context, left int, found iter.Seq2[event, error], recheck bool,
	wanted func(*andon.Event) bool, yield func(andon.Event) bool,
) error {
	for piece, err := range seq.Pieces(func() int { return min(left, 256) }, found) {
		if err == nil && recheck {
			piece, err = c.recheck(ctx, piece)
		}
		var all []andon.Event
		if err == nil {
			all, err = c.complete(ctx, piece)
		}
		if err != nil {
			return err
		}
		for i := range all {
			if !wanted(&all[i]) {
				continue
			}
			if left--; !yield(all[i]) || left == 0 {
				return nil
			}
		}
	}
	return nil
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

func (c *completing) complete(ctx context.Context, piece []event) (shown []andon.Event, err error) {
	if err := c.learn(ctx, piece); err != nil {
		return nil, err
	}
	s := c.store
	var withdrawn, escalated []mark
	for i := range piece {
		e := &piece[i]
		d := c.devices[e.Device]
		if d.Withdrawn.Covers(e.Time) {
			withdrawn = append(withdrawn, items.Withdrawal(d, e.Ref()))
		}
		if d.EverEscalated.Covers(e.Time) && !c.hasNewest(ctx, e) {
			escalated = append(escalated, items.Latest(d, e.Ref()))
			e.Record = andon.Escalation{}
		}
	}
	hidden, err := s.readMarked(ctx, withdrawn)
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
		if !d.Known() || len(hidden) > 0 && hidden[items.Withdrawal(d, e.Ref())] != nil {
			continue
		}
		r := e.Record
		if len(records) > 0 && r.At == 0 {
			r = records[items.Latest(d, e.Ref())].Escalation
		}
		if e.EscalatedTo = r.To; r.To != "" {
			andon.NoteEscalation(ctx, r)
		}
		shown = append(shown, e.Event)
	}
	return shown, nil
}

// hasNewest reports whether the record that an index has of an entry is the newest: its device has
// no newer one of any entry. An eventual answer may have the one before for a moment.
func (c *completing) hasNewest(ctx context.Context, e *event) bool {
	newest := c.devices[e.Device].EscalatedLast
	return e.Record.At != 0 && (e.Record.At >= newest || ddb.IsEventual(ctx))
}

// markItems is about how many such items a read unit has.
const markItems = 32

// readMarked reads the items of some marks of one table. A mark alone in its partition and state is
// read by its key. Several are read by a query from the first to the last, unless so many items are
// between them that reading by key costs less.
func (s *Store) readMarked(ctx context.Context, marks []mark) (found map[mark]ddb.Item, err error) {
	if len(marks) == 0 {
		return nil, nil
	}
	type part struct {
		ddb.Query
		state andon.State
	}
	parts := map[part][]mark{}
	for _, m := range shared.Distinct(marks) {
		p := part{m.Query, m.State}
		parts[p] = append(parts[p], m)
	}
	var keys []ddb.Item
	var several [][]mark
	for _, some := range parts {
		if len(some) > 1 {
			several = append(several, some)
			continue
		}
		keys = append(keys, some[0].Item())
	}
	pages := make([][]ddb.Item, len(several))
	err = shared.Parallel(ctx, len(several), func(ctx context.Context, i int) (err error) {
		pages[i], err = s.markedSpan(ctx, several[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	of := marks[0].Query
	all, err := s.db.BatchGet(ctx, of.Table, keys)
	found = map[mark]ddb.Item{}
	for _, i := range append(slices.Concat(pages...), all...) {
		ref, _, err := items.SplitStateDate(i.Text(of.Key.Sort))
		if err != nil {
			return nil, err
		}
		of.Partition = i.Text(of.Key.Hash)
		found[mark{Query: of, EntryRef: ref}] = i
	}
	return found, err
}

func (s *Store) markedSpan(ctx context.Context, marks []mark) ([]ddb.Item, error) {
	of := marks[0].Query
	of.Page = markItems * len(marks)
	var span items.Reach
	keys := make([]ddb.Item, len(marks))
	for i, m := range marks {
		span.Add(m.Time)
		keys[i] = m.Item()
	}
	q := items.InState(of, marks[0].State, andon.Span{From: span.From, To: span.To})
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
	d, err := s.find(ctx, id, device)
	if err != nil {
		return andon.Entry{}, err
	}
	is, _, err := s.entry(ctx, d, andon.EntryRef{Time: at, State: state})
	return is, err
}

func (s *Store) entry(
	ctx context.Context, d *device, ref andon.EntryRef,
) (is andon.Entry, of event, err error) {
	found, err := s.eventsAt(ctx, d.Tenant, places(d, ref))
	if err != nil {
		return is, of, err
	}
	if len(found) == 0 {
		return is, of, andon.NoEntry(d.ID, ref.Time, ref.State)
	}
	of = found[0]
	is.Event = of.Event
	if is.Escalations, err = s.escalations(ctx, d, ref); err != nil {
		return is, of, err
	}
	is.EscalatedTo = is.CurrentEscalation().To
	if d.Withdrawn.Covers(ref.Time) {
		is.Withdrawn, err = s.withdrawal(ctx, d, ref)
	}
	return is, of, err
}

// places returns the keys that an entry may have.
func places(d *device, ref andon.EntryRef) (all []ddb.Item) {
	key, sort := d.Rows(), items.StateDate(ref.State, ref.Time)
	for _, shard := range items.ShardsOf(sort, d.Partitions()) {
		all = append(all, items.LogKeys().Item(items.ShardKey(key, shard), sort))
	}
	return all
}

// eventsAt reads entries by their places, each once, in no particular order.
func (s *Store) eventsAt(ctx context.Context, t *tenant, keys []ddb.Item) ([]event, error) {
	there, err := s.db.BatchGet(ctx, items.TableLog, keys)
	if err != nil {
		return nil, err
	}
	var found []event
	for _, i := range there {
		e, _, err := items.ReadEvent(i)
		if err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return items.Distinct(found, t.Record.States, andon.Desc), nil
}
