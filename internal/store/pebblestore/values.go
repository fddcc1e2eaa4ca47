package pebblestore

import (
	"encoding/binary"
	"math"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/varint"
)

// Values. A count is an unsigned varint; a text is its length as a count, then its bytes.
//
//	escalation  by text | note, the rest
//	withdrawal  at count | by text | note, the rest
//	reading     metrics count | { name text | value 8 }… | metadata, the rest
//	operator    the person, the rest; nothing: no one
//
// The value of a metric is IEEE 754, big-endian.

var errDamaged = andon.Errorf(andon.Damaged,
	"the store is damaged: a stored value is not of its form")

// wire reads values and keys.
type wire struct {
	varint.Reader
	names *metNames // those that called has met; nil where they are not kept
}

func wireOf(b []byte) wire { return wire{Reader: varint.Reader{Rest: b}} }

// err reports that it is bad.
func (w *wire) err() error {
	if w.Bad {
		return errDamaged
	}
	return nil
}

// The parts of values.

func (w *wire) time() andon.Time { return andon.Time(w.Count()) }
func (w *wire) text() string     { return string(w.Text()) }

// called is text of a name that is likely to come again: it is one string then.
func (w *wire) called() string {
	if text := w.Text(); len(text) > 0 {
		return w.names.of(text)
	}
	return ""
}

// metNames are names that were met, each as one string. Nearly all that are asked for are recent:
// then no map is asked, which is a third of what it takes to read a device.
type metNames struct {
	all    map[string]string
	recent [256]string // by the last bytes and the length
}

func newMetNames() *metNames { return &metNames{all: map[string]string{}} }

// of returns a name that has at least a byte.
func (m *metNames) of(text []byte) string {
	if m == nil {
		return string(text)
	}
	n := len(text)
	recent := &m.recent[(n+int(text[n-1])+7*int(text[max(n-2, 0)]))%len(m.recent)]
	if *recent == string(text) {
		return *recent
	}
	name, met := m.all[string(text)]
	if !met {
		name = string(text)
		m.all[name] = name
	}
	*recent = name
	return name
}

// The parts of keys.

func (w *wire) name() string {
	s, rest, ok := takeText(w.Rest)
	w.Rest, w.Bad = rest, w.Bad || !ok
	return s
}

func (w *wire) instant() andon.Time {
	t, rest, ok := takeTime(w.Rest)
	w.Rest, w.Bad = rest, w.Bad || !ok
	return t
}

func (w *wire) inverted() andon.Time { return andon.Time(^uint64(w.instant())) }

func appendEscalation(b []byte, e *andon.Escalation) []byte {
	b = varint.AppendText(b, e.By)
	return append(b, e.Note...)
}

func readEscalation(e *andon.Escalation, value []byte) error {
	w := wireOf(value)
	e.By = andon.PersonID(w.text())
	e.Note = string(w.Rest)
	return w.err()
}

func appendReading(b []byte, metrics andon.Metrics, metadata andon.JSON) []byte {
	b = binary.AppendUvarint(b, uint64(len(metrics)))
	for _, m := range metrics {
		b = varint.AppendText(b, m.Name)
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(m.Value))
	}
	return append(b, metadata...)
}

func readReading(value []byte) (metrics andon.Metrics, metadata andon.JSON, err error) {
	w := wireOf(value)
	n := w.Count()
	if n > uint64(len(w.Rest)) {
		return nil, "", errDamaged
	}
	metrics = make(andon.Metrics, n)
	for i := range metrics {
		metrics[i].Name = andon.MetricName(w.text())
		if len(w.Rest) < 8 {
			return nil, "", errDamaged
		}
		metrics[i].Value = math.Float64frombits(binary.BigEndian.Uint64(w.Rest))
		w.Rest = w.Rest[8:]
	}
	return metrics, andon.JSON(w.Rest), w.err()
}
