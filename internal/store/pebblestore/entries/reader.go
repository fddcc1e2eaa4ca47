package entries

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// Source is a tenant whose entries are read.
type Source struct {
	Tenant *blocks.Tenant
	// Fleet are its devices. One that has no place there has no entries. A change of a device
	// counts there once the entry is in memory, or the escalation is seen by a new iterator.
	Fleet  *current.Fleet
	Shown  sync.Locker // held while Fleet is asked
	States *andon.StateSet
	// Withdrawn are entries that are left out; nil: none are.
	Withdrawn *Withdrawals
}

// Reader reads the entries of any number of devices of a tenant, from memory and from blocks. Its
// iterators are opened when the first block is looked for: new entries are in memory.
type Reader struct {
	ctx       context.Context
	log       *Log
	tenant    *blocks.Tenant
	fleet     *current.Fleet
	shown     sync.Locker // held while fleet is asked
	states    *andon.StateSet
	withdrawn *Withdrawals
	memory    View
	only      *andon.PersonID // entries of others are rivals and no hits; nil: all are hits

	blocks                    *blocks.Reader
	escalations               *engine.Iterator
	again, inMemory, inBlocks counted
	buffers
}

// buffers are what a reader uses for one device after the other.
type buffers struct {
	decoder eventlog.Decoder
	hits    []Hit
	rivals  []rival
	picked  []picked
	all     []Hit // of an operator
	placed  []deviceLog
	newest  []andon.Event // of devices
	wanted  []wanted
	key     layout.Key // of a device, in blocks

	of, at, end layout.Key // of escalations: of a device, from one place to another
}

// picked is a row of a block that is among hits.
type picked struct{ row, hit int }

// NewReader returns a reader, which sees what is in memory now. The caller closes it.
func (l *Log) NewReader(ctx context.Context, s Source) *Reader {
	return &Reader{
		ctx: ctx, log: l, tenant: s.Tenant, fleet: s.Fleet, shown: s.Shown, states: s.States,
		withdrawn: s.Withdrawn, memory: l.Memory.View(),
	}
}

func (r *Reader) open() (err error) {
	if r.blocks == nil {
		r.blocks, err = r.log.Log.NewReader(r.ctx, r.tenant)
	}
	return err
}

// Close ends the reader.
func (r *Reader) Close() {
	if r.blocks != nil {
		r.blocks.Close()
	}
	r.closeEscalations()
	r.explain()
}

// deviceLog is a device whose entries are read.
type deviceLog struct {
	id     andon.DeviceID
	number uint32
	gone   Withdrawn
}

// device returns a device that has a number: others have no entries.
func (r *Reader) device(id andon.DeviceID) (d deviceLog, ok bool) {
	r.shown.Lock()
	defer r.shown.Unlock()
	if slot := r.fleet.Slot(id); slot != nil {
		return r.numbered(id, slot.Number()), true
	}
	return d, false
}

func (r *Reader) numbered(id andon.DeviceID, number uint32) deviceLog {
	return deviceLog{id: id, number: number, gone: r.withdrawn.List(id)}
}

// Hit is an event that was found.
type Hit struct {
	Event       andon.Event
	EscalatedAt andon.Time // when its newest escalation was made
	delivery    uint64     // of several with one key that of the highest wins
	Severity    uint8
	lost        bool // to a rival
}

// rival is a delivery that is of another operator than the one that is asked for.
type rival struct {
	device   *deviceLog
	time     andon.Time
	state    andon.State
	delivery uint64
}

// Key returns the place of a hit among others.
func (h *Hit) Key() andon.EventKey {
	e := &h.Event
	return andon.EventKey{Time: e.Time, Severity: h.Severity, State: e.State, Device: e.Device}
}

// fromMemory is the least delivery of an entry in memory: of blocks that is their sequence.
const fromMemory = 1 << 63

// take appends an entry to hits, unless the query leaves it out.
func (r *Reader) take(
	hits []Hit, d *deviceLog, e *eventlog.Entry, delivery uint64, q *andon.EventQuery,
) []Hit {
	from := &r.inBlocks
	if delivery >= fromMemory {
		from = &r.inMemory
	}
	from.scanned++
	if !q.Span.Holds(e.Time) {
		return hits
	}
	if r.only != nil && e.Operator != *r.only {
		r.rivals = append(r.rivals, rival{d, e.Time, e.State, delivery})
		return hits
	}
	if !q.States.Match(e.State) || d.gone.Contains(andon.EntryRef{Time: e.Time, State: e.State}) {
		return hits
	}
	k := andon.EventKey{
		Time: e.Time, Severity: r.states.Severity(e.State), State: e.State, Device: d.id,
	}
	if !q.Admits(k) {
		return hits
	}
	from.rows++
	hits = append(hits, Hit{Severity: k.Severity, delivery: delivery, Event: andon.Event{
		Device: d.id, Time: e.Time, State: e.State, Operator: e.Operator,
		Message: string(e.Message), Attributes: andon.JSON(e.Attributes),
	}})
	return hits
}

// takeMemory appends to hits the entries of a device that the query admits and that are in memory,
// in its order, at most most of them.
func (r *Reader) takeMemory(hits []Hit, d *deviceLog, q *andon.EventQuery, most int) []Hit {
	begin := len(hits)
	span := q.Rest()
	delivery := uint64(math.MaxUint64)
	for n := range r.memory.Len() {
		before := len(hits)
		add := func(e eventlog.Entry, sorted bool) bool {
			hits = r.take(hits, d, &e, delivery, q)
			delivery-- // of two the one that was found first wins
			enough := q.Order == andon.Desc && len(hits)-before >= most
			return !sorted || !enough && e.Time >= span.From
		}
		r.memory.Walk(n, r.tenant.Number, d.number, span, add)
	}
	return hits[:begin+len(firstHits(hits[begin:], q.Order, most))]
}

// compare compares hits in an order: the negative one comes first.
func (h *Hit) compare(is *Hit, order andon.Order) int {
	if order == andon.Desc {
		h, is = is, h
	}
	return h.Key().Compare(is.Key())
}

// firstHits puts hits into an order, keeps one delivery of each, and cuts them to the first most.
func firstHits(hits []Hit, order andon.Order, most int) []Hit {
	for i := 1; i < len(hits); i++ {
		if hits[i-1].compare(&hits[i], order) >= 0 {
			hits = ordered(hits, order)
			break
		}
	}
	return hits[:min(len(hits), most)]
}

func ordered(hits []Hit, order andon.Order) []Hit {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(a.compare(&b, order), cmp.Compare(b.delivery, a.delivery))
	})
	return slices.CompactFunc(hits, func(a, b Hit) bool { return a.Key() == b.Key() })
}

// pageHits is for how many entries of a device there is memory from the beginning: those of a usual
// page.
const pageHits = 101

// Device returns the entries of one device that a query selects. It reads a day at a time, of each
// only as much as is still wanted. It and the lists within it do without seq.Of, which costs each
// of them three allocations.
func (r *Reader) Device(device andon.DeviceID, q *andon.EventQuery) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		d, ok := r.device(device)
		if !ok || q.Span.Empty() {
			return
		}
		left := q.Limit
		recent := r.takeMemory(make([]Hit, 0, min(left, pageHits)), &d, q, left)
		for day, err := range r.days(&d, q, recent) {
			var hits []Hit
			if err == nil {
				n := 0
				for n < len(recent) && recent[n].Event.Time.Day() == day {
					n++
				}
				hits = recent[:n:n]
				if n == 0 {
					hits = slices.Grow(r.buffers.hits[:0], min(left, pageHits))
				}
				hits, err = r.dayOf(hits, &d, day, q, left)
				recent, r.buffers.hits = recent[n:], hits
			}
			if err != nil {
				yield(Hit{}, err)
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
// and those of the hits in memory, which are in that order.
func (r *Reader) days(
	d *deviceLog, q *andon.EventQuery, recent []Hit,
) iter.Seq2[uint32, error] {
	var inMemory []uint32
	for i := range recent {
		inMemory = append(inMemory, recent[i].Event.Time.Day())
	}
	inMemory = slices.Compact(inMemory)
	before := func(a, b uint32) bool { return a != b && (a > b) == (q.Order == andon.Desc) }
	return func(yield func(uint32, error) bool) {
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
			for err == nil && len(inMemory) > 0 && !before(day, inMemory[0]) {
				if inMemory[0] != day && !yield(inMemory[0], nil) {
					return
				}
				inMemory = inMemory[1:]
			}
			if !yield(day, err) || err != nil {
				return
			}
		}
		for _, day := range inMemory {
			if !yield(day, nil) {
				return
			}
		}
	}
}

// dayOf returns the entries of a device and day that the query admits, in its order, at most most
// of them. hits are those in memory.
func (r *Reader) dayOf(
	hits []Hit, d *deviceLog, day uint32, q *andon.EventQuery, most int,
) ([]Hit, error) {
	hits, err := r.takeBlocks(hits, d, day, q, most)
	if err != nil {
		return nil, err
	}
	hits = firstHits(hits, q.Order, most)
	return hits, r.escalate(d.id, hits)
}

// takeBlocks appends to hits those of a day's blocks, in no order. Once there are enough, only
// blocks are opened that may have what comes before the last of them.
func (r *Reader) takeBlocks(
	hits []Hit, d *deviceLog, day uint32, q *andon.EventQuery, most int,
) ([]Hit, error) {
	if err := r.open(); err != nil {
		return hits, err
	}
	span := q.Rest()
	for run := range r.blocks.Runs(day, q.Order) {
		if !run.Meets(span) {
			continue
		}
		var err error
		if hits, span, err = r.takeRun(hits, d, day, run.RunID, span, q, most); err != nil {
			return hits, err
		}
	}
	return hits, nil
}

// takeRun is takeBlocks of one run. It returns the span that is still wanted.
func (r *Reader) takeRun(
	hits []Hit, d *deviceLog, day uint32, id layout.RunID, span andon.Span, q *andon.EventQuery,
	most int,
) ([]Hit, andon.Span, error) {
	r.key = r.key[:0].Number(d.number)
	span, err := r.blocks.Device(day, id, r.key, span, q.Order,
		func(at layout.BlockSpan, span andon.Span) (_ andon.Span, err error) {
			if hits, err = r.openBlock(hits, d, at, q, most); err != nil || len(hits) < most {
				return span, err
			}
			if hits = firstHits(hits, q.Order, most); len(hits) == most {
				span = layout.Until(span, hits[most-1].Event.Time, q.Order)
			}
			return span, nil
		})
	return hits, span, err
}

// openBlock appends what the query admits of the block that the iterator is at, of a list that
// begins with the newest at most most and what is of one instant with the last.
func (r *Reader) openBlock(
	hits []Hit, d *deviceLog, at layout.BlockSpan, q *andon.EventQuery, most int,
) ([]Hit, error) {
	rows, err := r.rows(at, q.States.Match)
	if err != nil {
		return hits, err
	}
	begin := len(hits)
	r.picked = r.picked[:0]
	for i := range rows {
		before := len(hits)
		enough := q.Order == andon.Desc && before-begin >= most
		if enough && rows[i].Time < hits[before-1].Event.Time || rows[i].Time < q.Span.From {
			break
		}
		hits = r.take(hits, d, &rows[i], at.Sequence, q)
		if len(hits) > before {
			r.picked = append(r.picked, picked{i, before})
		}
	}
	return hits, r.texts(rows, hits)
}

// rows decodes the block that the iterator is at, without texts.
func (r *Reader) rows(
	at layout.BlockSpan, want func(andon.State) bool,
) ([]eventlog.Entry, error) {
	value, err := r.blocks.ValueAndErr()
	if err != nil {
		return nil, err
	}
	return r.decoder.Rows(value, at.Newest, want)
}

// texts enters the texts of the rows that were picked into their hits, all as parts of one string.
func (r *Reader) texts(rows []eventlog.Entry, hits []Hit) error {
	if len(r.picked) == 0 {
		return nil
	}
	if err := r.decoder.Texts(r.picked[len(r.picked)-1].row + 1); err != nil {
		return err
	}
	size := 0
	for _, p := range r.picked {
		size += len(rows[p.row].Message) + len(rows[p.row].Attributes)
	}
	var all strings.Builder
	all.Grow(size)
	for _, p := range r.picked {
		_, _ = all.Write(rows[p.row].Message)
		_, _ = all.Write(rows[p.row].Attributes)
	}
	rest := all.String()
	for _, p := range r.picked {
		row, e := &rows[p.row], &hits[p.hit].Event
		e.Message, rest = rest[:len(row.Message)], rest[len(row.Message):]
		e.Attributes, rest = andon.JSON(rest[:len(row.Attributes)]), rest[len(row.Attributes):]
	}
	return nil
}
