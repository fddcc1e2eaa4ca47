package pebblestore

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/eventlog"
)

// eventReader reads the entries of any number of devices of a tenant, from the heads and from
// blocks. Its iterators are made when the first block is looked for: what is new is in the heads.
type eventReader struct {
	ctx    context.Context
	store  *Store
	tenant *tenant
	states *andon.StateSet
	all    bool // withdrawn entries, too
	heads  headView

	blocks, escalations *iterator
	directory           *directory
	decoder             eventlog.Decoder
	none                span // of escalations: there are none in it
	asked               int  // devices of operators whose entries were read
	inHeads, inBlocks   looked
}

func newEventReader(ctx context.Context, s *Store, t *tenant) *eventReader {
	return &eventReader{
		ctx: ctx, store: s, tenant: t, states: t.states(), heads: s.heads.look(),
	}
}

func (r *eventReader) open() (err error) {
	if r.blocks != nil {
		return nil
	}
	k := newKey(tableBlock, r.tenant.number)
	if r.blocks, err = newIterator(r.ctx, r.store.db, k, k.end()); err != nil {
		return err
	}
	r.directory, err = newDirectory(r.ctx, r.store.db, r.tenant, tableDay)
	return err
}

func (r *eventReader) close() {
	if r.directory != nil {
		r.directory.close()
	}
	for _, it := range []*iterator{r.blocks, r.escalations} {
		if it != nil {
			it.close()
		}
	}
	r.explain()
}

// logged is a device whose entries are read.
type logged struct {
	id     andon.DeviceID
	number uint32
	gone   []andon.EntryRef
}

// logged returns a device that has a place: others have no entries.
func (r *eventReader) logged(id andon.DeviceID) (d logged, ok bool) {
	r.store.mu.RLock()
	slot := r.tenant.fleet.Slot(id)
	r.store.mu.RUnlock()
	if slot == nil {
		return d, false
	}
	return r.numbered(id, slot.Number()), true
}

func (r *eventReader) numbered(id andon.DeviceID, number uint32) logged {
	d := logged{id: id, number: number}
	if !r.all {
		d.gone = r.tenant.withdrawn.of(id)
	}
	return d
}

// hit is an event that was found, and where it stands.
type hit struct {
	key       andon.EventKey
	event     andon.Event
	delivery  uint64     // of several with one key that of the highest counts
	escalated andon.Time // when its newest escalation was made
}

// inHead is the delivery of an entry that is in a head. Of those one is found.
const inHead = math.MaxUint64

// take appends an entry to hits, unless the query leaves it out.
func (r *eventReader) take(
	hits []hit, d *logged, e *eventlog.Entry, delivery uint64, q *andon.EventQuery,
) []hit {
	from := &r.inBlocks
	if delivery == inHead {
		from = &r.inHeads
	}
	from.scanned++
	k := andon.EventKey{Time: e.Time, State: e.State, Device: d.id}
	if !q.Span.Holds(e.Time) || !q.States.Match(e.State) ||
		slices.Contains(d.gone, andon.EntryRef{Time: e.Time, State: e.State}) {
		return hits
	}
	if k.Severity = r.states.Severity(e.State); !q.Admits(k) {
		return hits
	}
	from.rows++
	return append(hits, hit{key: k, delivery: delivery, event: andon.Event{
		Device: d.id, Time: e.Time, State: e.State, Operator: e.Operator,
		Message: string(e.Message), Attributes: andon.JSON(e.Attributes),
	}})
}

// fromHeads returns the entries of a device that the query admits and the heads have, in its order,
// at most most of them.
func (r *eventReader) fromHeads(d *logged, q *andon.EventQuery, most int) []hit {
	var hits, all []hit
	span := q.Rest()
	for n := range r.heads.heads {
		before := len(hits)
		add := func(e eventlog.Entry, sorted bool) bool {
			hits = r.take(hits, d, &e, inHead, q)
			enough := q.Order == andon.Desc && len(hits)-before >= most
			return !sorted || !enough && e.Time >= span.From
		}
		r.heads.walk(n, r.tenant.number, d.number, add)
	}
	// Sorting is stable: of two deliveries the newer one was found first, and stands.
	slices.SortStableFunc(hits, compareHits(q.Order))
	for i := range hits {
		if len(all) == 0 || all[len(all)-1].key != hits[i].key {
			all = append(all, hits[i])
		}
	}
	return all[:min(len(all), most)]
}

func compareHits(order andon.Order) func(a, b hit) int {
	if order == andon.Desc {
		return func(a, b hit) int { return b.key.Compare(a.key) }
	}
	return func(a, b hit) int { return a.key.Compare(b.key) }
}

// firstHits puts hits into an order, keeps one delivery of each, and cuts them to the first most.
func firstHits(hits []hit, order andon.Order, most int) []hit {
	compare := compareHits(order)
	slices.SortFunc(hits, func(a, b hit) int {
		if c := compare(a, b); c != 0 {
			return c
		}
		if a.delivery > b.delivery {
			return -1
		}
		return 1
	})
	hits = slices.CompactFunc(hits, func(a, b hit) bool { return a.key == b.key })
	return hits[:min(len(hits), most)]
}

// hits returns the entries of one device that a query selects, and where they stand. It reads a day
// at a time, of each only as much as is still wanted. It and the lists within it do without seq.Of,
// which costs each of them three allocations.
func (r *eventReader) hits(device andon.DeviceID, q *andon.EventQuery) iter.Seq2[hit, error] {
	return func(yield func(hit, error) bool) {
		d, ok := r.logged(device)
		if !ok || q.Span.Empty() {
			return
		}
		left := q.Limit
		head := r.fromHeads(&d, q, left)
		for day, err := range r.days(&d, q, head) {
			var hits []hit
			if err == nil {
				n := 0
				for n < len(head) && head[n].key.Time.Day() == day {
					n++
				}
				hits, head = slices.Clip(head[:n]), head[n:]
				hits, err = r.day(hits, &d, day, q, left)
			}
			if err != nil {
				yield(hit{}, err)
				return
			}
			for i := range hits {
				if !yield(hits[i], nil) {
					return
				}
			}
			if left -= len(hits); left == 0 {
				return
			}
		}
	}
}

// days returns the days on which a device has entries, in the query's order: those of the directory
// and those of the hits in its heads, which are in that order.
func (r *eventReader) days(
	d *logged, q *andon.EventQuery, head []hit,
) iter.Seq2[uint32, error] {
	before := func(a, b uint32) bool { return (a > b) == (q.Order == andon.Desc) && a != b }
	return func(yield func(uint32, error) bool) {
		// Days of the head before the first block need no iterator.
		yieldHead := func(until func(day uint32) bool) bool {
			for len(head) > 0 && until(head[0].key.Time.Day()) {
				day := head[0].key.Time.Day()
				for len(head) > 0 && head[0].key.Time.Day() == day {
					head = head[1:]
				}
				if !yield(day, nil) {
					return false
				}
			}
			return true
		}
		if err := r.open(); err != nil {
			yield(0, err)
			return
		}
		prefix := newKey(tableDay, r.tenant.number).number(d.number)
		for day, err := range r.directory.days(prefix, q.Rest(), q.Order) {
			if err == nil && !yieldHead(func(is uint32) bool { return before(is, day) }) {
				return
			}
			for len(head) > 0 && head[0].key.Time.Day() == day {
				head = head[1:]
			}
			if !yield(day, err) || err != nil {
				return
			}
		}
		yieldHead(func(uint32) bool { return true })
	}
}

// day returns the entries of a device and day that the query admits, in its order, at most most of
// them. hits are those of its heads.
func (r *eventReader) day(
	hits []hit, d *logged, day uint32, q *andon.EventQuery, most int,
) ([]hit, error) {
	hits, err := r.fromBlocks(hits, d, day, q, most)
	if err != nil {
		return nil, err
	}
	hits = firstHits(hits, q.Order, most)
	return hits, r.escalate(d.id, hits)
}

// fromBlocks appends to hits those of a day's blocks, in no order. Once there are enough, only
// blocks are opened that may have what comes before the last of them.
func (r *eventReader) fromBlocks(
	hits []hit, d *logged, day uint32, q *andon.EventQuery, most int,
) ([]hit, error) {
	if err := r.open(); err != nil {
		return hits, err
	}
	prefix := newKey(tableBlock, r.tenant.number).number(day).number(d.number)
	span := q.Rest()
	ok, move := false, r.blocks.Next
	if q.Order == andon.Desc {
		ok = r.blocks.Forward(prefix)
	} else {
		ok, move = r.blocks.SeekLT(prefix.end()), r.blocks.Prev
	}
	for ; ok && bytes.HasPrefix(r.blocks.Key(), prefix); ok = move() {
		at, whole := splitBlock(r.blocks.Key()[len(prefix):], day)
		if !whole {
			return hits, errDamaged
		}
		if q.Order == andon.Desc && at.newest < span.From {
			break // as are all behind it
		}
		if at.newest < span.From || span.To != 0 && at.oldest > span.To {
			continue
		}
		var err error
		if hits, err = r.openBlock(hits, d, at, q); err != nil {
			return hits, err
		}
		if len(hits) >= most {
			if hits = firstHits(hits, q.Order, most); len(hits) == most {
				span = upTo(span, hits[most-1].key.Time, q.Order)
			}
		}
	}
	return hits, r.blocks.Error()
}

// openBlock appends what the query admits of the block that the iterator is at.
func (r *eventReader) openBlock(
	hits []hit, d *logged, at spanned, q *andon.EventQuery,
) ([]hit, error) {
	entries, err := r.decode(at, q.States.Match)
	for i := range entries {
		hits = r.take(hits, d, &entries[i], at.sequence, q)
	}
	return hits, err
}

func (r *eventReader) decode(
	at spanned, want func(andon.State) bool,
) ([]eventlog.Entry, error) {
	value, err := r.blocks.ValueAndErr()
	if err != nil {
		return nil, fmt.Errorf("read block: %w", err)
	}
	entries, err := r.decoder.Entries(value, at.newest, want)
	if err != nil {
		return nil, errDamaged
	}
	return entries, nil
}

// upTo returns the part of a span that a list in an order has up to a time.
func upTo(span andon.Span, last andon.Time, order andon.Order) andon.Span {
	if order == andon.Desc {
		return span.Since(last)
	}
	return span.Until(last)
}

// entry returns one entry, withdrawn or not, without its escalations; NotFound where it is not
// there.
func (r *eventReader) entry(
	device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Event, error) {
	e := andon.Event{Device: device, Time: at, State: state}
	d, ok := r.logged(device)
	if !ok {
		return e, andon.NoEntry(device, at, state)
	}
	found := false
	fill := func(is *eventlog.Entry) {
		found = true
		e.Operator, e.Message = is.Operator, string(is.Message)
		e.Attributes = andon.JSON(is.Attributes)
	}
	r.heads.find(r.tenant.number, d.number, at, state, fill)
	if found {
		return e, nil
	}
	if err := r.entryInBlocks(&d, &e, fill); err != nil {
		return e, err
	}
	if !found {
		return e, andon.NoEntry(device, at, state)
	}
	return e, nil
}

// entryInBlocks finds the delivery of an entry that counts: that of the highest sequence.
func (r *eventReader) entryInBlocks(
	d *logged, e *andon.Event, fill func(*eventlog.Entry),
) error {
	if err := r.open(); err != nil {
		return err
	}
	is := func(state andon.State) bool { return state == e.State }
	day, highest := e.Time.Day(), uint64(0)
	prefix := newKey(tableBlock, r.tenant.number).number(day).number(d.number)
	ok := r.blocks.SeekGE(prefix)
	for ; ok && bytes.HasPrefix(r.blocks.Key(), prefix); ok = r.blocks.Next() {
		at, whole := splitBlock(r.blocks.Key()[len(prefix):], day)
		if !whole {
			return errDamaged
		}
		if at.newest < e.Time {
			break
		}
		if at.oldest > e.Time || at.sequence < highest {
			continue
		}
		entries, err := r.decode(at, is)
		if err != nil {
			return err
		}
		for i := range entries {
			if entries[i].Time == e.Time && entries[i].State == e.State {
				highest = at.sequence
				fill(&entries[i])
			}
		}
	}
	return r.blocks.Error()
}

// escalate enters the newest escalation into each of the hits of a device, which are in the order
// of a list.
func (r *eventReader) escalate(device andon.DeviceID, hits []hit) error {
	if len(hits) == 0 {
		return nil
	}
	newest, oldest := hits[0].key.Time, hits[len(hits)-1].key.Time
	within := andon.Span{From: min(newest, oldest), To: max(newest, oldest)}
	for e, err := range r.escalatedIn(device, within) {
		if err != nil {
			return err
		}
		for i := range hits {
			if h := &hits[i]; h.key.Time == e.Time && h.key.State == e.State {
				h.event.EscalatedTo, h.escalated = e.To, e.At
			}
		}
	}
	return nil
}

// escalatedIn returns the newest escalation of each entry of a device in a span, newest first. It
// passes over the others, and remembers where there are none, so that devices without any cost one
// seek together.
func (r *eventReader) escalatedIn(
	device andon.DeviceID, within andon.Span,
) iter.Seq2[andon.Escalation, error] {
	return func(yield func(andon.Escalation, error) bool) {
		if r.escalations == nil {
			k := newKey(tableEscalation, r.tenant.number)
			it, err := newIterator(r.ctx, r.store.db, k, k.end())
			if err != nil {
				yield(andon.Escalation{}, err)
				return
			}
			r.escalations = it
		}
		prefix := newKey(tableEscalation, r.tenant.number).text(string(device))
		until := andon.Earlier(within.To, andon.MaxTime)
		behind := bytes.Clone(prefix.invertedTime(max(within.From, 1) - 1))
		for at := bytes.Clone(prefix.invertedTime(until)); !r.none.holds(span{at, behind}); {
			if !r.escalations.Forward(at) {
				r.none = span{at, newKey(tableEscalation, r.tenant.number).end()}
				break
			}
			if !bytes.HasPrefix(r.escalations.Key(), prefix) {
				r.none = span{at, bytes.Clone(r.escalations.Key())}
				return
			}
			e, ok := splitEscalation(bytes.Clone(r.escalations.Key()[len(prefix):]))
			if !ok {
				yield(e, errDamaged)
				return
			}
			if e.Time < within.From {
				r.none = span{at, bytes.Clone(r.escalations.Key())}
				return
			}
			if e.Device = device; !yield(e, nil) {
				return
			}
			at = newKey(tableEscalation, r.tenant.number).escalated(device, e.Time, e.State).end()
		}
		if err := r.escalations.Error(); err != nil {
			yield(andon.Escalation{}, err)
		}
	}
}
