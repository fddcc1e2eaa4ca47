package readingblock

import (
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// Count returns how many readings a block has.
func Count(block []byte) (n int, ok bool) {
	r := readerOf(block)
	n = r.Number(MaxBlock)
	return n, !r.Bad && n > 0
}

// Wanted is what is wanted of a block.
type Wanted struct {
	Span    andon.Span
	Metrics []andon.MetricName // none: all
	Most    int                // readings, the newest in the span; 0: all
}

// Decoder decodes blocks. It uses its memory again.
type Decoder struct {
	Names *varint.Interner // of metrics; nil: each is a string of its own
	reader
	numbers  []int64
	of       []int64
	values   []float64
	readings []andon.Reading
	texts    []andon.JSON
	columns  []column
}

// column is a metric that is wanted, after the count of its values.
type column struct {
	name   andon.MetricName
	values int
	reader
}

// Readings decodes what is wanted of a block whose newest reading is of a time, newest first: all
// readings in the span, also those that have none of the metrics. The list is valid until the next
// block, what is in it for good.
func (d *Decoder) Readings(
	block []byte, newest andon.Time, want Wanted,
) ([]andon.Reading, error) {
	d.reader = readerOf(block)
	n := d.Number(MaxBlock)
	unit := d.Byte()
	if d.Bad || n == 0 || int(unit) >= len(varint.Units) {
		return nil, varint.ErrDamaged
	}
	first, end := d.times(n, newest, varint.Units[unit], want)
	d.readTexts(n, first, end)
	d.find(want.Metrics)
	if d.Bad || len(d.Rest) > 0 {
		return nil, varint.ErrDamaged
	}
	d.reserve(end - first)
	for i := range d.columns {
		d.fill(&d.columns[i], n, first, end)
	}
	return d.readings, d.Err()
}

// times makes d.readings those that are wanted, from the first up to end.
func (d *Decoder) times(
	n int, newest, unit andon.Time, want Wanted,
) (first, end int) {
	column := d.sized()
	some := n
	if to := want.Span.To; want.Most > 0 && (to == 0 || to >= newest) {
		some = min(n, want.Most) // the first ones: of most blocks the newest reading alone
	}
	d.numbers = slices.Grow(d.numbers[:0], some)[:some]
	column.integers(d.numbers, n)
	d.Bad = d.Bad || column.Bad
	d.readings = d.readings[:0]
	first = n
	for i, ago := range d.numbers {
		at := newest - andon.Time(ago)*unit
		if i == 0 && ago != 0 || i > 0 && ago <= d.numbers[i-1] || at < 0 {
			d.Bad = true // they go from new to old
			return 0, 0
		}
		if !want.Span.Holds(at) {
			continue
		}
		if len(d.readings) == 0 {
			first = i
		}
		d.readings = append(d.readings, andon.Reading{Time: at})
		if len(d.readings) == want.Most {
			break
		}
	}
	return first, first + len(d.readings)
}

func (d *Decoder) readTexts(n, first, end int) {
	d.texts = append(d.texts[:0], "")
	all := 0
	for k := d.Number(n); k > 0 && !d.Bad; k-- {
		last := d.texts[len(d.texts)-1]
		shared := d.Number(len(last))
		text := last[:shared] + andon.JSON(d.Text())
		if all += len(text); all > maxTexts {
			d.Bad = true // so that damage takes no more memory than metadata do
		}
		d.texts = append(d.texts, text)
	}
	if d.Bad || len(d.texts) == 1 {
		return
	}
	column := d.sized()
	d.numbers = slices.Grow(d.numbers[:0], end)[:end]
	column.integers(d.numbers, n)
	d.Bad = d.Bad || column.Bad
	for i := first; i < end && !d.Bad; i++ {
		which := d.numbers[i]
		if which < 0 || which >= int64(len(d.texts)) {
			d.Bad = true
			return
		}
		d.readings[i-first].Metadata = d.texts[which]
	}
}

func (d *Decoder) find(wanted []andon.MetricName) {
	d.columns = d.columns[:0]
	for range d.Number(len(d.Rest)) { // each takes more than a byte
		name := andon.MetricName(d.Names.Intern(d.Text()))
		c := column{name: name, reader: d.sized()}
		if d.Bad {
			return
		}
		if len(wanted) == 0 || slices.Contains(wanted, name) {
			c.values = c.Number(MaxBlock)
			d.Bad = d.Bad || c.Bad
			d.columns = append(d.columns, c)
		}
	}
}

func (d *Decoder) reserve(readings int) {
	all := 0
	for i := range d.columns {
		all += d.columns[i].values
	}
	if d.Bad = d.Bad || all > maxSamples; d.Bad {
		return
	}
	const few = 64
	if len(d.columns)*readings > 2*all+few {
		return // most have not all metrics: each takes the memory that it needs
	}
	metrics := make(andon.Metrics, len(d.columns)*readings)
	for i := range d.readings {
		from := i * len(d.columns)
		d.readings[i].Metrics = metrics[from : from : from+len(d.columns)]
	}
}

func (d *Decoder) fill(c *column, n, first, end int) {
	d.of = d.of[:0]
	if c.values < n {
		positions := c.sized()
		d.of = slices.Grow(d.of, c.values)[:c.values]
		positions.integers(d.of, c.values)
		c.Bad = c.Bad || positions.Bad
	} else {
		for i := range end {
			d.of = append(d.of, int64(i))
		}
	}
	upTo := 0
	for upTo < len(d.of) && d.of[upTo] < int64(end) {
		if d.of[upTo] < 0 || upTo > 0 && d.of[upTo] <= d.of[upTo-1] {
			c.Bad = true
			break
		}
		upTo++
	}
	d.values = slices.Grow(d.values[:0], upTo)[:upTo]
	d.numbers = slices.Grow(d.numbers[:0], upTo)[:upTo]
	c.reader.values(d.values, c.values, d.numbers)
	if d.Bad = d.Bad || c.Bad || c.values > n; d.Bad {
		return
	}
	for i, value := range d.values {
		if at := int(d.of[i]) - first; at >= 0 {
			r := &d.readings[at]
			r.Metrics = append(r.Metrics, andon.Metric{Name: c.name, Value: value})
		}
	}
}

type reader struct{ varint.Reader }

func readerOf(b []byte) reader { return reader{varint.Reader{Rest: b}} }

// sized returns a reader of a part that says its length.
func (r *reader) sized() reader { return reader{r.Sized()} }
