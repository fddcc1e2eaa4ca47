// Package readingblock encodes the readings of a device as blocks, whose columns are the times, the
// metadata and each metric. It is pure: it must not know an engine, a clock or locks.
package readingblock

import (
	"encoding/binary"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// A block is readings of one device and day, newest first, each with a time of its own:
//
//	block     readings count | unit 1 byte | times sized | texts | metrics
//	times     integers: by how many units a reading is older than the newest, whose time the
//	          reader knows
//	texts     count | { shared count | rest text }… | integers, sized, where there are texts:
//	          which one each reading has, 0 none. Texts are metadata, each once; shared: how many
//	          bytes are those of the one before
//	metrics   count | { name text | metric sized }…
//	metric    values count | integers: which readings have it, only where not all | values
//	unit      0 µs, 1 ms, 2 s: the longest that all differences are whole numbers of
//
// A count is an unsigned varint; a text is its length as a count, then its bytes; sized says its
// length before it, so that a reader passes over what it does not want. column.go draws integers
// and values. All begin with the newest, so the newest readings are there without the others.

// What a block has at most, so that reading one of its readings takes little. The second is about
// in bytes: a single reading may have more.
const (
	MaxBlock    = 512
	maxBytes    = 32 << 10
	sampleBytes = 4
	maxSamples  = maxBytes/sampleBytes + andon.MaxJoinedMetrics
	maxTexts    = maxBytes + andon.MaxJSONBytes
)

// BlockOf returns how many of the readings, newest first, the next block has.
func BlockOf(readings []andon.Reading) (n int) {
	bytes := 0
	for n < min(len(readings), MaxBlock) {
		r := &readings[n]
		bytes += sampleBytes * len(r.Metrics)
		if n == 0 || r.Metadata != readings[n-1].Metadata {
			bytes += len(r.Metadata)
		}
		if n > 0 && bytes > maxBytes {
			break
		}
		n++
	}
	return n
}

// Encoder encodes blocks. It uses its memory again.
type Encoder struct {
	values
	numbers []int64
	column  []byte
	at      map[andon.MetricName]int
	metrics []metric
	texts   map[andon.JSON]int
}

type metric struct {
	name   andon.MetricName
	values []float64
	of     []int64
}

// Append encodes readings of one device, newest first, those of BlockOf.
func (x *Encoder) Append(b []byte, readings []andon.Reading) []byte {
	ago := func(i int) andon.Time { return readings[0].Time - readings[i].Time }
	unit := varint.UnitOf(len(readings), ago)
	b = append(binary.AppendUvarint(b, uint64(len(readings))), unit)
	x.numbers = x.numbers[:0]
	for i := range readings {
		x.numbers = append(x.numbers, int64(ago(i)/varint.Units[unit]))
	}
	x.column = x.integers.append(x.column[:0], x.numbers)
	b = x.appendTexts(varint.AppendText(b, x.column), readings)
	x.gather(readings)
	b = binary.AppendUvarint(b, uint64(len(x.metrics)))
	for i := range x.metrics {
		m := &x.metrics[i]
		x.column = binary.AppendUvarint(x.column[:0], uint64(len(m.of)))
		if len(m.of) < len(readings) {
			x.column = varint.AppendText(x.column, x.integers.append(nil, m.of))
		}
		x.column = x.values.append(x.column, m.values)
		b = varint.AppendText(varint.AppendText(b, m.name), x.column)
	}
	return b
}

func (x *Encoder) appendTexts(b []byte, readings []andon.Reading) []byte {
	if x.texts == nil {
		x.texts = map[andon.JSON]int{}
	}
	clear(x.texts)
	x.texts[""], x.numbers = 0, x.numbers[:0]
	var list []andon.JSON
	for i := range readings {
		text := readings[i].Metadata
		n, ok := x.texts[text]
		if !ok {
			list = append(list, text)
			n = len(list)
			x.texts[text] = n
		}
		x.numbers = append(x.numbers, int64(n))
	}
	b = binary.AppendUvarint(b, uint64(len(list)))
	last := andon.JSON("")
	for _, text := range list {
		b, last = varint.AppendAfter(b, last, text), text
	}
	if len(list) == 0 {
		return b
	}
	x.column = x.integers.append(x.column[:0], x.numbers)
	return varint.AppendText(b, x.column)
}

// gather makes x.metrics the metrics of readings, by name.
func (x *Encoder) gather(readings []andon.Reading) {
	if x.at == nil {
		x.at = map[andon.MetricName]int{}
	}
	clear(x.at)
	x.metrics = x.metrics[:0]
	for i := range readings {
		for j, is := range readings[i].Metrics {
			// Nearly always the readings of a device have the same metrics.
			if j >= len(x.metrics) || x.metrics[j].name != is.Name {
				j = x.metric(is.Name)
			}
			m := &x.metrics[j]
			m.values, m.of = append(m.values, is.Value), append(m.of, int64(i))
		}
	}
	slices.SortFunc(x.metrics, func(a, b metric) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
}

func (x *Encoder) metric(name andon.MetricName) int {
	j, ok := x.at[name]
	if ok {
		return j
	}
	if j = len(x.metrics); j < cap(x.metrics) {
		x.metrics = x.metrics[:j+1]
		m := &x.metrics[j]
		*m = metric{name: name, values: m.values[:0], of: m.of[:0]}
	} else {
		x.metrics = append(x.metrics, metric{name: name})
	}
	x.at[name] = j
	return j
}
