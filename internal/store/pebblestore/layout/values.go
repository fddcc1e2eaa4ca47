package layout

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// Values. A count is an unsigned varint; a text is its length as a count, then its bytes.
//
//	escalation  by text | note, the rest
//	withdrawal  at count | by text | note, the rest
//	reading     metrics count | { name text | value 8 }… | metadata, the rest
//	operator    the person, the rest; nothing: no one
//
// The value of a metric is IEEE 754, big-endian.

// ErrDamaged says that bytes are not of their form.
var ErrDamaged = varint.ErrDamaged

// Reader reads values and keys.
type Reader struct {
	varint.Reader
	Names *varint.Interner // of Interned; nil: each name is a string of its own
}

// NewReader returns a reader of bytes.
func NewReader(b []byte) Reader { return Reader{Reader: varint.Reader{Rest: b}} }

// The parts of values.

// Time reads a time that was written as a count.
func (w *Reader) Time() andon.Time { return andon.Time(w.Count()) }

// Str reads a text into a string.
func (w *Reader) Str() string { return string(w.Text()) }

// Interned reads a name that is likely to come again. Equal names are one string.
func (w *Reader) Interned() string { return w.Names.Intern(w.Text()) }

// The parts of keys.

// Name reads a text.
func (w *Reader) Name() string {
	s, rest, ok := TakeText(w.Rest)
	w.Rest, w.Bad = rest, w.Bad || !ok
	return s
}

// Instant reads a time.
func (w *Reader) Instant() andon.Time {
	t, rest, ok := TakeTime(w.Rest)
	w.Rest, w.Bad = rest, w.Bad || !ok
	return t
}

// InvertedInstant reads what Key.InvertedTime appended.
func (w *Reader) InvertedInstant() andon.Time { return andon.Time(^uint64(w.Instant())) }

// AppendEscalation encodes what of an escalation is not in its key.
func AppendEscalation(b []byte, e *andon.Escalation) []byte {
	b = varint.AppendText(b, e.By)
	return append(b, e.Note...)
}

// ReadEscalation reads what AppendEscalation wrote.
func ReadEscalation(e *andon.Escalation, value []byte) error {
	w := NewReader(value)
	e.By = andon.PersonID(w.Str())
	e.Note = string(w.Rest)
	return w.Err()
}

// AppendReading encodes a reading.
func AppendReading(b []byte, metrics andon.Metrics, metadata andon.JSON) []byte {
	b = binary.AppendUvarint(b, uint64(len(metrics)))
	for _, m := range metrics {
		b = varint.AppendText(b, m.Name)
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(m.Value))
	}
	return append(b, metadata...)
}

// ReadReading reads what AppendReading wrote, and appends its metrics. names are those that were
// met before.
func ReadReading(
	metrics andon.Metrics, value []byte, names *varint.Interner,
) (andon.Metrics, andon.JSON, error) {
	w := Reader{Reader: varint.Reader{Rest: value}, Names: names}
	n := w.Number(len(value))
	metrics = slices.Grow(metrics, n)
	for ; n > 0; n-- {
		m := andon.Metric{Name: andon.MetricName(w.Interned())}
		if len(w.Rest) < 8 {
			return metrics, "", ErrDamaged
		}
		m.Value = math.Float64frombits(binary.BigEndian.Uint64(w.Rest))
		w.Rest = w.Rest[8:]
		metrics = append(metrics, m)
	}
	return metrics, andon.JSON(w.Rest), w.Err()
}

// WithdrawalKey is the key of the withdrawal of an entry.
func WithdrawalKey(tenant uint32, device andon.DeviceID, e andon.EntryRef) Key {
	return NewKey(TableWithdrawal, tenant).Text(string(device)).Time(e.Time).Text(string(e.State))
}

// AppendWithdrawal encodes what of a withdrawal is not in its key.
func AppendWithdrawal(b []byte, w *andon.Withdrawal) []byte {
	b = varint.AppendText(binary.AppendUvarint(b, uint64(w.At)), w.By)
	return append(b, w.Note...)
}

// ReadWithdrawal reads what AppendWithdrawal wrote.
func ReadWithdrawal(is *andon.Withdrawal, value []byte) error {
	w := NewReader(value)
	is.At, is.By = w.Time(), andon.PersonID(w.Str())
	is.Note = string(w.Rest)
	return w.Err()
}

// SplitWithdrawal takes apart what follows the tenant.
func SplitWithdrawal(rest []byte) (device andon.DeviceID, e andon.EntryRef, err error) {
	w := NewReader(rest)
	device = andon.DeviceID(w.Name())
	e.Time, e.State = w.Instant(), andon.State(w.Name())
	return device, e, w.Err()
}

// EncodeDocument encodes a record: version 8 | due 8 | data.
func EncodeDocument(r *andon.Record) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 16+len(r.Data)), r.Version)
	return append(Key(b).Time(r.Due), r.Data...)
}

// DecodeDocument reads what EncodeDocument wrote.
func DecodeDocument(r *andon.Record, value []byte) error {
	if len(value) < 16 {
		return ErrDamaged
	}
	r.Version = binary.BigEndian.Uint64(value)
	r.Due = andon.Time(binary.BigEndian.Uint64(value[8:]))
	r.Data = andon.JSON(value[16:])
	return nil
}
