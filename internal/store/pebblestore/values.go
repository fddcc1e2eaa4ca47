package pebblestore

import (
	"encoding/binary"
	"math"

	"github.com/andonhq/andon"
)

// Values. A count is an unsigned varint; a text is its length as a count, then its bytes.
//
//	event       operator text | message text | attributes, the rest
//	escalation  by text | note, the rest
//	withdrawal  at count | by text | note, the rest
//	reading     metrics count | { name text | value 8 }… | metadata, the rest
//	operator    the person, the rest; nothing: no one
//
// The value of a metric is IEEE 754, big-endian.

var errDamaged = andon.Errorf(andon.Damaged,
	"the store is damaged: a stored value is not of its form")

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func takeCount(b []byte) (n uint64, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, false
	}
	return n, b[size:], true
}

func takeCounted(b []byte) (text string, rest []byte, ok bool) {
	n, rest, ok := takeCount(b)
	if !ok || n > uint64(len(rest)) {
		return "", nil, false
	}
	return string(rest[:n]), rest[n:], true
}

// wire reads values and keys. Behind the first part that is not of its form it is bad and reads
// zeros.
type wire struct {
	rest []byte
	bad  bool
	// names are those that called has met; nil where they are not kept.
	names map[string]string
}

// err reports that it is bad.
func (w *wire) err() error {
	if w.bad {
		return errDamaged
	}
	return nil
}

// The parts of values.

func (w *wire) count() uint64 {
	if len(w.rest) > 0 && w.rest[0] < 0x80 { // as many are
		n := w.rest[0]
		w.rest = w.rest[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(w.rest)
	if size <= 0 {
		w.rest, w.bad = nil, true
		return 0
	}
	w.rest = w.rest[size:]
	return n
}

func (w *wire) time() andon.Time { return andon.Time(w.count()) }

func (w *wire) text() string {
	s, rest, ok := takeCounted(w.rest)
	w.rest, w.bad = rest, w.bad || !ok
	return s
}

// called is text of a name that is likely to come again: it is one string then.
func (w *wire) called() string {
	n, rest, ok := takeCount(w.rest)
	if w.names == nil || !ok || n > uint64(len(rest)) {
		return w.text()
	}
	name, met := w.names[string(rest[:n])]
	if !met {
		name = string(rest[:n])
		w.names[name] = name
	}
	w.rest = rest[n:]
	return name
}

func (w *wire) signed() int64 {
	n, size := binary.Varint(w.rest)
	if size <= 0 {
		w.rest, w.bad = nil, true
		return 0
	}
	w.rest = w.rest[size:]
	return n
}

func (w *wire) byte() (c byte) {
	if len(w.rest) == 0 {
		w.bad = true
		return 0
	}
	c, w.rest = w.rest[0], w.rest[1:]
	return c
}

// The parts of keys.

func (w *wire) name() string {
	s, rest, ok := takeText(w.rest)
	w.rest, w.bad = rest, w.bad || !ok
	return s
}

func (w *wire) instant() andon.Time {
	t, rest, ok := takeTime(w.rest)
	w.rest, w.bad = rest, w.bad || !ok
	return t
}

func (w *wire) inverted() andon.Time { return andon.Time(^uint64(w.instant())) }

func appendEvent(b []byte, e *andon.Event, operator andon.PersonID) []byte {
	b = appendText(b, string(operator))
	b = appendText(b, e.Message)
	return append(b, e.Attributes...)
}

// readEvent fills in what the value holds of an event.
func readEvent(e *andon.Event, value []byte) error {
	w := wire{rest: value}
	e.Operator, e.Message = andon.PersonID(w.text()), w.text()
	e.Attributes = andon.JSON(w.rest)
	return w.err()
}

func appendEscalation(b []byte, e *andon.Escalation) []byte {
	b = appendText(b, string(e.By))
	return append(b, e.Note...)
}

func readEscalation(e *andon.Escalation, value []byte) error {
	w := wire{rest: value}
	e.By = andon.PersonID(w.text())
	e.Note = string(w.rest)
	return w.err()
}

func appendReading(b []byte, metrics andon.Metrics, metadata andon.JSON) []byte {
	b = binary.AppendUvarint(b, uint64(len(metrics)))
	for _, m := range metrics {
		b = appendText(b, string(m.Name))
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(m.Value))
	}
	return append(b, metadata...)
}

func readReading(value []byte) (metrics andon.Metrics, metadata andon.JSON, err error) {
	w := wire{rest: value}
	n := w.count()
	if n > uint64(len(w.rest)) {
		return nil, "", errDamaged
	}
	metrics = make(andon.Metrics, n)
	for i := range metrics {
		metrics[i].Name = andon.MetricName(w.text())
		if len(w.rest) < 8 {
			return nil, "", errDamaged
		}
		metrics[i].Value = math.Float64frombits(binary.BigEndian.Uint64(w.rest))
		w.rest = w.rest[8:]
	}
	return metrics, andon.JSON(w.rest), w.err()
}
