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

func appendEvent(b []byte, e *andon.Event, operator andon.PersonID) []byte {
	b = appendText(b, string(operator))
	b = appendText(b, e.Message)
	return append(b, e.Attributes...)
}

// readEvent fills in what the value holds of an event.
func readEvent(e *andon.Event, value []byte) error {
	operator, rest, ok := takeCounted(value)
	if !ok {
		return errDamaged
	}
	message, rest, ok := takeCounted(rest)
	if !ok {
		return errDamaged
	}
	e.Operator, e.Message, e.Attributes = andon.PersonID(operator), message, andon.JSON(rest)
	return nil
}

func appendEscalation(b []byte, e *andon.Escalation) []byte {
	b = appendText(b, string(e.By))
	return append(b, e.Note...)
}

func readEscalation(e *andon.Escalation, value []byte) error {
	by, rest, ok := takeCounted(value)
	if !ok {
		return errDamaged
	}
	e.By, e.Note = andon.PersonID(by), string(rest)
	return nil
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
	n, rest, ok := takeCount(value)
	if !ok || n > uint64(len(rest)) {
		return nil, "", errDamaged
	}
	metrics = make(andon.Metrics, n)
	for i := range metrics {
		name, after, ok := takeCounted(rest)
		if !ok || len(after) < 8 {
			return nil, "", errDamaged
		}
		metrics[i].Name = andon.MetricName(name)
		metrics[i].Value = math.Float64frombits(binary.BigEndian.Uint64(after))
		rest = after[8:]
	}
	return metrics, andon.JSON(rest), nil
}
