package readings

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/readingblock"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// Scan reads the readings of any number of devices of a tenant.
type Scan struct {
	ctx         context.Context
	tenant      uint32
	first, last uint64 // generations that may have rows
	rows        *engine.Iterator
	blocks      *blocks.Reader
	opened      int // blocks that were decoded
	buffers
}

// buffers are what a scan uses for one device after the other.
type buffers struct {
	decoder         readingblock.Decoder
	page            dayPage
	metrics         andon.Metrics // memory for those of the next rows; its length is 0
	deviceKey       layout.Key
	ofRows, farther layout.Key
}

// NewScan opens the iterator of rows, and then that of blocks: what is flushed after the first was
// opened is in its rows.
func (l *Log) NewScan(ctx context.Context, t *blocks.Tenant) (*Scan, error) {
	first := l.flushed.Load()
	k := layout.NewKey(layout.TableReading, t.Number)
	rows, err := engine.NewIterator(ctx, l.DB, k, k.End())
	if err != nil {
		return nil, err
	}
	s := &Scan{
		ctx: ctx, tenant: t.Number, first: first, last: l.generation.Load(), rows: rows,
	}
	s.decoder.Names = varint.NewInterner()
	if s.blocks, err = l.NewReader(ctx, t); err != nil {
		rows.Release()
		return nil, err
	}
	return s, nil
}

// Close ends the scan.
func (s *Scan) Close() {
	s.blocks.Close()
	s.rows.Release()
}

// Device returns the readings of one device that a query selects.
func (s *Scan) Device(
	device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	span := q.Rest()
	return seq.Of(func(yield func(andon.Reading) bool) error {
		if span.Empty() {
			return nil
		}
		yield = seq.UpTo(q.Limit, yield)
		days, err := s.days(device, span, q.Order)
		if err != nil {
			return err
		}
		for day, err := range days {
			if err != nil {
				return err
			}
			more, err := s.day(device, day, span, &q, yield)
			if err != nil || !more {
				return err
			}
		}
		return nil
	})
}

// days returns the days on which a device has readings.
func (s *Scan) days(
	device andon.DeviceID, span andon.Span, order andon.Order,
) (iter.Seq2[uint32, error], error) {
	s.deviceKey = s.deviceKey[:0].Text(string(device))
	return s.blocks.Days(s.ctx, s.deviceKey, span, order)
}

// What of a day is in memory at a time, about. The latter is of the rows of a generation: blocks
// are read one by one, and have few bytes.
const (
	pageReadings = 1024
	pageBytes    = 1 << 20
)

// pageOf returns the first page of a device and day. It is valid until the next one.
func (s *Scan) pageOf(
	device andon.DeviceID, day uint32, span andon.Span, q *andon.ReadingQuery,
) *dayPage {
	p := &s.page
	*p = dayPage{
		Scan: s, query: q, device: device, day: day, parts: p.parts, most: pageReadings,
		span: span.Since(andon.DayStart(day)).Until(andon.DayStart(day+1) - 1),
	}
	if q.Limit > 0 {
		p.most = min(p.most, q.Limit)
	}
	return p
}

// day yields the readings of a device and day, a page at a time.
func (s *Scan) day(
	device andon.DeviceID, day uint32, span andon.Span, q *andon.ReadingQuery,
	yield func(andon.Reading) bool,
) (more bool, err error) {
	p := s.pageOf(device, day, span, q)
	most := p.most
	for !p.span.Empty() {
		whole := p.span
		p.most = most
		if err := p.read(); err != nil {
			return false, err
		}
		readings := 0
		for len(p.rest) > 0 {
			r := p.next()
			if !p.wanted(&r) {
				continue
			}
			if readings++; !yield(r) {
				return false, nil
			}
			p.span = after(whole, r.Time, q.Order)
		}
		if readings < p.most {
			break
		}
	}
	return true, nil
}

// after returns what a span has after a time, in an order.
func after(span andon.Span, last andon.Time, order andon.Order) andon.Span {
	if order == andon.Desc {
		span.To = last - 1
	} else {
		span.From = last + 1
	}
	return span
}

// dayPage is the next readings of a device and day in a span.
type dayPage struct {
	*Scan
	query    *andon.ReadingQuery
	device   andon.DeviceID
	day      uint32
	span     andon.Span // narrower, as soon as there are enough
	most     int        // readings; fewer, as soon as they are large
	parts    []part
	rest     []part // that next was not called for
	unsorted bool
}

// part is what one source has of a reading. Later deliveries win, and of one delivery higher
// numbers.
type part struct {
	andon.Reading
	delivery, number uint64
}

// read finds the parts of the page, in the query's order.
func (p *dayPage) read() (err error) {
	p.parts, p.unsorted = p.parts[:0], false
	// Rows are mostly newer than blocks: in this order what comes first often is enough.
	rowsFirst := p.query.Order == andon.Desc
	for _, rows := range [...]bool{rowsFirst, !rowsFirst} {
		if rows {
			err = p.fromRows()
		} else {
			err = p.fromBlocks()
		}
		if err != nil {
			return err
		}
		p.cut()
	}
	p.sort()
	p.rest = p.parts
	return nil
}

// next takes the first reading of the rest, which its parts make. They follow each other.
func (p *dayPage) next() andon.Reading {
	r, n := p.rest[0].Reading, 1
	for ; n < len(p.rest) && p.rest[n].Time == r.Time; n++ {
		r = join(r, p.rest[n].Reading)
	}
	p.rest = p.rest[n:]
	return r
}

func (p *dayPage) wanted(r *andon.Reading) bool {
	return len(r.Metrics) > 0 || len(p.query.Metrics) == 0
}

// take appends a part. One without what the query wants may have the metadata of one that has it.
func (p *dayPage) take(r andon.Reading, delivery, number uint64) {
	if p.wanted(&r) || r.Metadata != "" {
		r.Device = p.device
		is, n := part{r, delivery, number}, len(p.parts)
		p.unsorted = p.unsorted || n > 0 && p.compare(p.parts[n-1], is) > 0
		p.parts = append(p.parts, is)
	}
}

func (p *dayPage) fromRows() error {
	for generation := p.first; generation <= p.last; generation++ {
		if err := p.fromGeneration(generation); err != nil {
			return err
		}
	}
	return nil
}

func (p *dayPage) fromGeneration(generation uint64) error {
	prefix := p.ofRows.Begin(layout.TableReading, p.tenant).Uint(generation, layout.SequenceBytes).
		Number(p.day).Text(string(p.device))
	p.ofRows = prefix
	ok, move := false, p.rows.Next
	if p.query.Order == andon.Desc {
		p.farther = append(p.farther[:0], prefix...)
		p.farther[len(prefix)-1] = layout.AfterText
		ok = p.rows.SeekWithin(prefix.InvertedTime(p.span.To), p.farther)
	} else {
		// Without the bounds it would go on through the rows of generations that are flushed.
		move = p.rows.Prev
		p.rows.SetBounds(prefix, prefix.End())
		ok = p.rows.SeekLT(prefix.InvertedTime(max(p.span.From, 1) - 1))
	}
	last := andon.Time(0) // that is wanted; its other rows follow
	found, bytesFound := 0, 0
	for ; ok && bytes.HasPrefix(p.rows.Key(), prefix); ok = move() {
		at, rest, whole := layout.TakeInvertedTime(p.rows.Key()[len(prefix):])
		if !whole || len(rest) != layout.SequenceBytes {
			return layout.ErrDamaged
		}
		if !p.span.Holds(at) || found >= p.most && at != last {
			return nil
		}
		number := layout.Uint(rest)
		r, err := p.row(at)
		if err != nil {
			return err
		}
		if p.take(r, generation, number); p.wanted(&r) && at != last {
			found, last = found+1, at
		}
		const metricBytes = 24
		if bytesFound += len(r.Metadata) + metricBytes*len(r.Metrics); bytesFound > pageBytes {
			p.most = min(p.most, max(found, 1))
		}
	}
	return p.rows.Error()
}

func (p *dayPage) row(at andon.Time) (r andon.Reading, err error) {
	value, err := p.rows.ValueAndErr()
	if err != nil {
		return r, err
	}
	r.Time = at
	r.Metrics, r.Metadata, err = layout.ReadReading(p.metrics, value, p.decoder.Names)
	n := len(r.Metrics)
	if n <= cap(p.metrics) {
		p.metrics = r.Metrics[n:]
	} else {
		p.metrics = make(andon.Metrics, 0, min(4*n, 256))
	}
	r.Metrics = r.Metrics[:n:n]
	r.Metrics = r.Metrics.Only(p.query.Metrics)
	return r, err
}

// fromBlocks takes the parts of the day's blocks. Once there are enough, only blocks are opened
// that may have what comes before the last of them.
func (p *dayPage) fromBlocks() error {
	for run := range p.blocks.Runs(p.day, p.query.Order) {
		if run.Meets(p.span) {
			if err := p.fromRun(run.RunID); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *dayPage) fromRun(id layout.RunID) (err error) {
	p.span, err = p.blocks.Device(p.day, id, p.deviceKey, p.span, p.query.Order,
		func(at layout.BlockSpan, _ andon.Span) (andon.Span, error) {
			err := p.openBlock(at)
			p.cut()
			return p.span, err
		})
	return err
}

func (p *dayPage) openBlock(at layout.BlockSpan) error {
	value, err := p.blocks.ValueAndErr()
	if err != nil {
		return err
	}
	desc := p.query.Order == andon.Desc
	want := readingblock.Wanted{Span: p.span, Metrics: p.query.Metrics}
	if desc && len(want.Metrics) == 0 {
		want.Most = p.most
	}
	p.opened++
	readings, err := p.decoder.Readings(value, at.Newest, want)
	if err != nil {
		return err
	}
	if !desc {
		slices.Reverse(readings)
	}
	for i := range readings {
		p.take(readings[i], at.Sequence, 0)
	}
	return nil
}

// cut puts the parts into order, and where there are enough readings it drops those after them,
// and what the span has after them.
func (p *dayPage) cut() {
	if len(p.parts) < p.most {
		return
	}
	p.sort()
	readings := 0
	for i := 0; i < len(p.parts); {
		n, wanted := 0, false
		for ; i+n < len(p.parts) && p.parts[i+n].Time == p.parts[i].Time; n++ {
			wanted = wanted || p.wanted(&p.parts[i+n].Reading)
		}
		if i += n; wanted {
			readings++
		}
		if readings == p.most {
			p.parts = p.parts[:i]
			p.span = layout.Until(p.span, p.parts[i-1].Time, p.query.Order)
			return
		}
	}
}

// sort puts the parts into the query's order, those of one reading from the earliest delivery to
// the latest. Nearly always they are.
func (p *dayPage) sort() {
	if p.unsorted {
		slices.SortFunc(p.parts, p.compare)
		p.unsorted = false
	}
}

func (p *dayPage) compare(a, b part) int {
	c := cmp.Compare(a.Time, b.Time)
	if p.query.Order == andon.Desc {
		c = -c
	}
	return cmp.Or(c, cmp.Compare(a.delivery, b.delivery), cmp.Compare(a.number, b.number))
}
