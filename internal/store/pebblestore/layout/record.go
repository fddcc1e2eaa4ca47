package layout

import (
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// A row is what one write brings, and how it leaves the devices it touches; a large write has
// several. So current states are never older or newer than the log. Of the states it holds only
// what changed, as whole values, so that replaying it twice, or onto a later state that the same
// rows led to, ends in the same state:
//
//	row     tenant count | arrival count, 0 where it was no message | names | { device }…
//	device  number count | entries | parts 1 byte | the parts that are there, in this order:
//	  1 named      id text                            the first row of the device; no id: it was
//	                                                  purged: earlier rows of it are void
//	  2 newest     time zigzag, from the last of the entries, without them from the arrival
//	  4 run        state text | since | before count | before's state text
//	  8 incident   since count | normal count
//	 16 operator   text
//	 32 escalated  entry count | state text | at count | to text | AsideAt count
//	 64 assigned   operator text | from count
//	128 retired    count
//
// eventlog.Names and eventlog.Row have names and entries. A device of a checkpoint is its id, its
// arrival, and all parts but the first.
//
// A row that is worth it is packed: rowPacked, which is no tenant's number, and the row as S2 has
// it. Devices of one request say much the same, so it takes about half the bytes in the log.
const (
	PartNamed = 1 << iota
	PartNewest
	PartRun
	PartIncident
	PartOperator
	partEscalated
	partAssigned
	partRetired
)

// RowPacked is the first byte of a row that is packed.
const RowPacked = 0

// PackRow returns a row as it is stored, in buf if that is large enough.
func PackRow(buf, row []byte) []byte {
	const worth = 512 // bytes
	if len(row) < worth {
		return append(buf[:0], row...)
	}
	buf = slices.Grow(buf[:0], 1+s2.MaxEncodedLen(len(row)))
	buf = append(buf, RowPacked)
	return buf[:1+len(s2.Encode(buf[1:cap(buf)], row))]
}

// UnpackRow returns the row of a stored value: the value itself, or a copy, in buf if that is large
// enough.
func UnpackRow(buf, value []byte) (row []byte, err error) {
	if len(value) == 0 || value[0] != RowPacked {
		return value, nil
	}
	return AppendUnpacked(buf[:0], value)
}

// AppendUnpacked appends the row of a stored value.
func AppendUnpacked(b, value []byte) ([]byte, error) {
	if len(value) == 0 || value[0] != RowPacked {
		return append(b, value...), nil
	}
	const most = 1 << 28 // so that damage does not take all memory
	n, err := s2.DecodedLen(value[1:])
	if err != nil || n > most {
		return nil, ErrDamaged
	}
	b = slices.Grow(b, n)
	if _, err := s2.Decode(b[len(b):len(b)+n], value[1:]); err != nil {
		return nil, ErrDamaged
	}
	return b[:len(b)+n], nil
}

// AppendRow begins a row.
func AppendRow(b []byte, tenant uint32, received andon.Time, names *eventlog.Names) []byte {
	b = binary.AppendUvarint(b, uint64(tenant))
	return names.Append(binary.AppendUvarint(b, uint64(received)))
}

// AppendDeviceChange encodes how a device changed, without its number, which it may not have yet.
// base is
// the time that its newest is said from, and parts are those that did (changedParts).
func AppendDeviceChange(
	b []byte, parts byte, named bool, is *current.Device, base andon.Time,
) []byte {
	if named {
		parts |= PartNamed
	}
	b = append(b, parts)
	if named {
		b = varint.AppendText(b, is.ID)
	}
	return appendParts(b, parts, is, base)
}

// ChangedParts returns the parts in which a device changed.
func ChangedParts(was, is *current.Device) (parts byte) {
	set := func(changed bool, part byte) {
		if changed {
			parts |= part
		}
	}
	set(was.Time != is.Time, PartNewest)
	set(was.State != is.State || was.Since != is.Since ||
		was.PrevTime != is.PrevTime || was.PrevState != is.PrevState, PartRun)
	set(was.Incident != is.Incident || was.LastNormal != is.LastNormal, PartIncident)
	set(was.Operator != is.Operator, PartOperator)
	set(was.AsideAt != is.AsideAt || was.Escalated != is.Escalated, partEscalated)
	set(was.Assignee != is.Assignee || was.AssignedFrom != is.AssignedFrom, partAssigned)
	set(was.Retired != is.Retired, partRetired)
	return parts
}

func appendParts(b []byte, parts byte, d *current.Device, base andon.Time) []byte {
	if parts&PartNewest != 0 {
		b = binary.AppendVarint(b, int64(d.Time-base))
	}
	if parts&PartRun != 0 {
		b = binary.AppendUvarint(varint.AppendText(b, d.State), uint64(d.Since))
		b = varint.AppendText(binary.AppendUvarint(b, uint64(d.PrevTime)), d.PrevState)
	}
	if parts&PartIncident != 0 {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(d.Incident)), uint64(d.LastNormal))
	}
	if parts&PartOperator != 0 {
		b = varint.AppendText(b, d.Operator)
	}
	if parts&partEscalated != 0 {
		e := &d.Escalated
		b = varint.AppendText(binary.AppendUvarint(b, uint64(e.Entry)), e.State)
		b = varint.AppendText(binary.AppendUvarint(b, uint64(e.At)), e.To)
		b = binary.AppendUvarint(b, uint64(d.AsideAt))
	}
	if parts&partAssigned != 0 {
		b = binary.AppendUvarint(varint.AppendText(b, d.Assignee), uint64(d.AssignedFrom))
	}
	if parts&partRetired != 0 {
		b = binary.AppendUvarint(b, uint64(d.Retired))
	}
	return b
}

// Parts reads into d what appendParts wrote.
func (w *Reader) Parts(parts byte, d *current.Device, base andon.Time) {
	if parts&PartNewest != 0 {
		d.Time = base + andon.Time(w.Signed())
	}
	if parts&PartRun != 0 {
		d.State, d.Since = andon.State(w.Interned()), w.Time()
		d.PrevTime, d.PrevState = w.Time(), andon.State(w.Interned())
	}
	if parts&PartIncident != 0 {
		d.Incident, d.LastNormal = w.Time(), w.Time()
	}
	if parts&PartOperator != 0 {
		d.Operator = andon.PersonID(w.Interned())
	}
	if parts&partEscalated != 0 {
		d.Escalated.Entry, d.Escalated.State = w.Time(), andon.State(w.Interned())
		d.Escalated.At, d.Escalated.To = w.Time(), andon.PersonID(w.Interned())
		d.AsideAt = w.Time()
	}
	if parts&partAssigned != 0 {
		d.Assignee, d.AssignedFrom = andon.PersonID(w.Interned()), w.Time()
	}
	if parts&partRetired != 0 {
		d.Retired = w.Time()
	}
}

const allParts = PartNewest | PartRun | PartIncident | PartOperator |
	partEscalated | partAssigned | partRetired

// AppendCheckpoint writes a whole device.
func AppendCheckpoint(b []byte, d *current.Device) []byte {
	b = append(append(b, d.ID...), EndOfText)
	b = binary.AppendUvarint(b, uint64(d.Received))
	return appendParts(b, allParts, d, 0)
}

// ReadCheckpoint reads into d what AppendCheckpoint wrote. names are those that were met
// before.
func ReadCheckpoint(d *current.Device, value []byte, names *varint.Interner) error {
	id, rest, ok := TakeText(value)
	if !ok {
		return ErrDamaged
	}
	w := Reader{Reader: varint.Reader{Rest: rest}, Names: names}
	*d = current.Device{}
	d.ID, d.Received = andon.DeviceID(id), w.Time()
	w.Parts(allParts, d, 0)
	if w.Bad || len(w.Rest) != 0 {
		return ErrDamaged
	}
	return nil
}
