package pebblestore

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// eventReader reads the entries of any number of devices of a tenant, from the heads and from
// blocks. Its iterators are made when the first block is looked for: what is new is in the heads.
type eventReader struct {
	ctx    context.Context
	store  *Store
	tenant *tenant
	states *andon.StateSet
	all    bool // withdrawn entries, too
	heads  entries.View

	blocks            *blocks.Reader
	escalations       *engine.Iterator
	none              engine.Span // of escalations: there are none in it
	kept              strings.Builder
	asked             int // devices of operators whose entries were read
	inHeads, inBlocks looked
	buffers
}

// buffers are what a reader uses for one device after the other.
type buffers struct {
	decoder eventlog.Decoder
	hits    []hit
	picked  []int // of the rows of a block
	all     []hit // of an operator
	placed  []logged
	newest  []andon.Event // of devices
	wanted  []wanted
	text    []byte
	key     layout.Key // of a device, in blocks

	of, at, behind layout.Key // of escalations: of a device, from one place to another
}

func newEventReader(ctx context.Context, s *Store, t *tenant) *eventReader {
	return &eventReader{
		ctx: ctx, store: s, tenant: t, states: t.states(), heads: s.log.Memory.View(),
	}
}

func (r *eventReader) open() (err error) {
	if r.blocks == nil {
		r.blocks, err = r.store.log.NewReader(r.ctx, r.tenant.entries)
	}
	return err
}

func (r *eventReader) close() {
	if r.blocks != nil {
		r.blocks.Close()
	}
	if r.escalations != nil {
		r.escalations.Release()
	}
	r.explain()
}

// logged is a device whose entries are read.
type logged struct {
	id     andon.DeviceID
	number uint32
	gone   withdrawnList
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
		d.gone = r.tenant.withdrawn.list(id)
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

// inHead is the least delivery of an entry that is in a head: of blocks that is their sequence.
const inHead = 1 << 63

// take appends an entry to hits, unless the query leaves it out.
func (r *eventReader) take(
	hits []hit, d *logged, e *eventlog.Entry, delivery uint64, q *andon.EventQuery,
) []hit {
	from := &r.inBlocks
	if delivery >= inHead {
		from = &r.inHeads
	}
	from.scanned++
	if !q.Span.Holds(e.Time) || !q.States.Match(e.State) ||
		d.gone.contains(andon.EntryRef{Time: e.Time, State: e.State}) {
		return hits
	}
	k := andon.EventKey{
		Time: e.Time, Severity: r.states.Severity(e.State), State: e.State, Device: d.id,
	}
	if !q.Admits(k) {
		return hits
	}
	from.rows++
	return append(hits, hit{key: k, delivery: delivery, event: andon.Event{
		Device: d.id, Time: e.Time, State: e.State, Operator: e.Operator,
		Message: string(e.Message), Attributes: andon.JSON(e.Attributes),
	}})
}

// fromHeads appends to hits the entries of a device that the query admits and the heads have, in
// its order, at most most of them.
func (r *eventReader) fromHeads(hits []hit, d *logged, q *andon.EventQuery, most int) []hit {
	begin := len(hits)
	span := q.Rest()
	delivery := uint64(math.MaxUint64)
	for n := range r.heads.Len() {
		before := len(hits)
		add := func(e eventlog.Entry, sorted bool) bool {
			hits = r.take(hits, d, &e, delivery, q)
			delivery-- // of two the one that was found first stands
			enough := q.Order == andon.Desc && len(hits)-before >= most
			return !sorted || !enough && e.Time >= span.From
		}
		r.heads.Walk(n, r.tenant.number, d.number, span, add)
	}
	return hits[:begin+len(firstHits(hits[begin:], q.Order, most))]
}

// compare compares hits in an order: the negative one comes first.
func (h *hit) compare(is *hit, order andon.Order) int {
	if order == andon.Desc {
		h, is = is, h
	}
	return h.key.Compare(is.key)
}

// firstHits puts hits into an order, keeps one delivery of each, and cuts them to the first most.
func firstHits(hits []hit, order andon.Order, most int) []hit {
	for i := 1; i < len(hits); i++ {
		if hits[i-1].compare(&hits[i], order) >= 0 {
			hits = ordered(hits, order)
			break
		}
	}
	return hits[:min(len(hits), most)]
}

func ordered(hits []hit, order andon.Order) []hit {
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(a.compare(&b, order), cmp.Compare(b.delivery, a.delivery))
	})
	return slices.CompactFunc(hits, func(a, b hit) bool { return a.key == b.key })
}

// pageHits is for how many entries of a device there is memory from the beginning: those of a usual
// page.
const pageHits = 101

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
		head := r.fromHeads(make([]hit, 0, min(left, pageHits)), &d, q, left)
		for day, err := range r.days(&d, q, head) {
			var hits []hit
			if err == nil {
				n := 0
				for n < len(head) && head[n].key.Time.Day() == day {
					n++
				}
				hits = head[:n:n]
				if n == 0 {
					hits = slices.Grow(r.buffers.hits[:0], min(left, pageHits))
				}
				hits, err = r.day(hits, &d, day, q, left)
				head, r.buffers.hits = head[n:], hits
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
		r.key = r.key[:0].Number(d.number)
		stored, err := r.blocks.Days(r.ctx, r.key, q.Rest(), q.Order)
		if err != nil {
			yield(0, err)
			return
		}
		for day, err := range stored {
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
	span := q.Rest()
	for run := range r.blocks.Runs(day, q.Order) {
		if !run.Meets(span) {
			continue
		}
		var err error
		if hits, span, err = r.fromRun(hits, d, day, run.RunID, span, q, most); err != nil {
			return hits, err
		}
	}
	return hits, nil
}

// fromRun is fromBlocks of one run. It returns the span that is still wanted.
func (r *eventReader) fromRun(
	hits []hit, d *logged, day uint32, id layout.RunID, span andon.Span, q *andon.EventQuery,
	most int,
) ([]hit, andon.Span, error) {
	r.key = r.key[:0].Number(d.number)
	span, err := r.blocks.Device(day, id, r.key, span, q.Order,
		func(at layout.BlockSpan, span andon.Span) (_ andon.Span, err error) {
			if hits, err = r.openBlock(hits, d, at, q, most); err != nil || len(hits) < most {
				return span, err
			}
			if hits = firstHits(hits, q.Order, most); len(hits) == most {
				span = layout.Until(span, hits[most-1].key.Time, q.Order)
			}
			return span, nil
		})
	return hits, span, err
}

// openBlock appends what the query admits of the block that the iterator is at, of a list that
// begins with the newest at most most and what is of one instant with the last.
func (r *eventReader) openBlock(
	hits []hit, d *logged, at layout.BlockSpan, q *andon.EventQuery, most int,
) ([]hit, error) {
	rows, err := r.rows(at, q.States.Match)
	if err != nil {
		return hits, err
	}
	begin := len(hits)
	r.picked = r.picked[:0]
	for i := range rows {
		before := len(hits)
		enough := q.Order == andon.Desc && before-begin >= most
		if enough && rows[i].Time < hits[before-1].key.Time {
			break
		}
		if hits = r.take(hits, d, &rows[i], at.Sequence, q); len(hits) > before {
			r.picked = append(r.picked, i)
		}
	}
	return hits, r.texts(rows, hits[begin:])
}

// rows decodes the block that the iterator is at, without texts.
func (r *eventReader) rows(
	at layout.BlockSpan, want func(andon.State) bool,
) ([]eventlog.Entry, error) {
	value, err := r.blocks.Block()
	if err != nil {
		return nil, err
	}
	rows, err := r.decoder.Rows(value, at.Newest, want)
	if err != nil {
		return nil, layout.ErrDamaged
	}
	return rows, nil
}

// texts enters the texts of the rows that were picked into their hits, all as parts of one string.
func (r *eventReader) texts(rows []eventlog.Entry, hits []hit) error {
	if len(hits) == 0 {
		return nil
	}
	if r.decoder.Texts(r.picked[len(hits)-1]+1) != nil {
		return layout.ErrDamaged
	}
	r.text = r.text[:0]
	for _, i := range r.picked {
		r.text = append(append(r.text, rows[i].Message...), rows[i].Attributes...)
	}
	rest := r.keep(r.text)
	for i := range hits {
		row, e := &rows[r.picked[i]], &hits[i].event
		e.Message, rest = rest[:len(row.Message)], rest[len(row.Message):]
		e.Attributes, rest = andon.JSON(rest[:len(row.Attributes)]), rest[len(row.Attributes):]
	}
	return nil
}
