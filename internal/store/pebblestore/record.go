package pebblestore

import (
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/eventlog"
	"github.com/andonhq/andon/internal/varint"
)

// A row is what one write brings, and how it leaves the devices it touches; a large write has
// several. So current states are never older or newer than the log. Of the states it holds only
// what changed, as whole values, so that replaying it twice, or onto a later state that the same
// rows led to, ends in the same state:
//
//	row     tenant count | arrival count, 0 where it was no message | names | { device }…
//	device  number count | entries | parts 1 byte | the parts that are there, in this order:
//	  1 named      id text                            the first row of the device; no id: it was
//	                                                  purged, and what stands before is over
//	  2 newest     time zigzag, from the last of the entries, without them from the arrival
//	  4 run        state text | since | before count | before's state text
//	  8 incident   since count | normal count
//	 16 operator   text
//	 32 escalated  how many count | { entry count | state text | at count | to text }…
//	               one that has neither entry nor state says only at, AsideAt
//	 64 assigned   operator text | from count
//	128 retired    count
//
// eventlog.Names and eventlog.Row have names and entries. Up to format 4 a record was the same
// without both. A device of a checkpoint has all parts but the first, behind its id and its
// arrival.
//
// A row that is worth it is packed: rowPacked, which is no tenant's number, and the row as S2 has
// it. Devices of one request say much the same, so it takes about half the bytes in the log.
const (
	partNamed = 1 << iota
	partNewest
	partRun
	partIncident
	partOperator
	partEscalated
	partAssigned
	partRetired
)

const rowPacked = 0

// packRow returns the row as it is stored, in room if that is large enough.
func packRow(room, row []byte) []byte {
	const worth = 512 // bytes
	if len(row) < worth {
		return append(room[:0], row...)
	}
	room = slices.Grow(room[:0], 1+s2.MaxEncodedLen(len(row)))
	room = append(room, rowPacked)
	return room[:1+len(s2.Encode(room[1:cap(room)], row))]
}

// unpackRow returns the row that is stored as value: value itself, or in room if that is enough.
func unpackRow(room, value []byte) (row []byte, err error) {
	if len(value) == 0 || value[0] != rowPacked {
		return value, nil
	}
	return appendUnpacked(room[:0], value)
}

// appendUnpacked appends the row that is stored as value.
func appendUnpacked(b, value []byte) ([]byte, error) {
	if len(value) == 0 || value[0] != rowPacked {
		return append(b, value...), nil
	}
	const most = 1 << 28 // so that damage does not take all memory
	n, err := s2.DecodedLen(value[1:])
	if err != nil || n > most {
		return nil, errDamaged
	}
	b = slices.Grow(b, n)
	if _, err := s2.Decode(b[len(b):len(b)+n], value[1:]); err != nil {
		return nil, errDamaged
	}
	return b[:len(b)+n], nil
}

func appendRow(b []byte, tenant uint32, received andon.Time, names *eventlog.Names) []byte {
	b = binary.AppendUvarint(b, uint64(tenant))
	return names.Append(binary.AppendUvarint(b, uint64(received)))
}

// appendNumbered writes how a device changed, as appendChange encoded it.
func appendNumbered(b []byte, number uint32, change []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(number)), change...)
}

// appendChange encodes how a device changed, without its number, which it may not have yet. base is
// the time that its newest is said from, and parts are those that did (changedParts).
func appendChange(
	b []byte, parts byte, named bool, is *current.Device, base andon.Time,
) []byte {
	if named {
		parts |= partNamed
	}
	b = append(b, parts)
	if named {
		b = varint.AppendText(b, is.ID)
	}
	return appendParts(b, parts, is, base)
}

func changedParts(was, is *current.Device) (parts byte) {
	set := func(changed bool, part byte) {
		if changed {
			parts |= part
		}
	}
	set(was.Time != is.Time, partNewest)
	set(was.State != is.State || was.Since != is.Since ||
		was.PrevTime != is.PrevTime || was.PrevState != is.PrevState, partRun)
	set(was.Incident != is.Incident || was.LastNormal != is.LastNormal, partIncident)
	set(was.Operator != is.Operator, partOperator)
	set(was.AsideAt != is.AsideAt || !slices.Equal(was.Escalations, is.Escalations),
		partEscalated)
	set(was.Assignee != is.Assignee || was.AssignedFrom != is.AssignedFrom, partAssigned)
	set(was.Retired != is.Retired, partRetired)
	return parts
}

func appendParts(b []byte, parts byte, d *current.Device, base andon.Time) []byte {
	if parts&partNewest != 0 {
		b = binary.AppendVarint(b, int64(d.Time-base))
	}
	if parts&partRun != 0 {
		b = binary.AppendUvarint(varint.AppendText(b, d.State), uint64(d.Since))
		b = varint.AppendText(binary.AppendUvarint(b, uint64(d.PrevTime)), d.PrevState)
	}
	if parts&partIncident != 0 {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(d.Incident)), uint64(d.LastNormal))
	}
	if parts&partOperator != 0 {
		b = varint.AppendText(b, d.Operator)
	}
	if parts&partEscalated != 0 {
		b = appendEscalations(b, d)
	}
	if parts&partAssigned != 0 {
		b = binary.AppendUvarint(varint.AppendText(b, d.Assignee), uint64(d.AssignedFrom))
	}
	if parts&partRetired != 0 {
		b = binary.AppendUvarint(b, uint64(d.Retired))
	}
	return b
}

func appendEscalations(b []byte, d *current.Device) []byte {
	list := d.Escalations
	if d.AsideAt != 0 {
		list = append(slices.Clip(list), current.Escalation{At: d.AsideAt})
	}
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, e := range list {
		b = varint.AppendText(binary.AppendUvarint(b, uint64(e.Entry)), e.State)
		b = varint.AppendText(binary.AppendUvarint(b, uint64(e.At)), e.To)
	}
	return b
}

// parts reads into d what appendParts wrote.
func (w *wire) parts(parts byte, d *current.Device, base andon.Time) {
	if parts&partNewest != 0 {
		d.Time = base + andon.Time(w.Signed())
	}
	if parts&partRun != 0 {
		d.State, d.Since = andon.State(w.called()), w.time()
		d.PrevTime, d.PrevState = w.time(), andon.State(w.called())
	}
	if parts&partIncident != 0 {
		d.Incident, d.LastNormal = w.time(), w.time()
	}
	if parts&partOperator != 0 {
		d.Operator = andon.PersonID(w.called())
	}
	if parts&partEscalated != 0 {
		w.escalations(d)
	}
	if parts&partAssigned != 0 {
		d.Assignee, d.AssignedFrom = andon.PersonID(w.called()), w.time()
	}
	if parts&partRetired != 0 {
		d.Retired = w.time()
	}
}

func (w *wire) escalations(d *current.Device) {
	d.Escalations, d.AsideAt = nil, 0
	for n := w.Count(); n > 0 && !w.Bad; n-- {
		e := current.Escalation{Entry: w.time(), State: andon.State(w.called())}
		e.At, e.To = w.time(), andon.PersonID(w.called())
		if e.Entry == 0 && e.State == "" {
			d.AsideAt = e.At
		} else {
			d.Escalations = append(d.Escalations, e)
		}
	}
}

const allParts = partNewest | partRun | partIncident | partOperator |
	partEscalated | partAssigned | partRetired

// appendCheckpointed writes a whole device.
func appendCheckpointed(b []byte, d *current.Device) []byte {
	b = append(append(b, d.ID...), textEnd)
	b = binary.AppendUvarint(b, uint64(d.Received))
	return appendParts(b, allParts, d, 0)
}

// readCheckpointed reads into d what appendCheckpointed wrote. names are those that were met
// before.
func readCheckpointed(d *current.Device, value []byte, names *metNames) error {
	id, rest, ok := takeText(value)
	if !ok {
		return errDamaged
	}
	w := wire{Reader: varint.Reader{Rest: rest}, names: names}
	*d = current.Device{}
	d.ID, d.Received = andon.DeviceID(id), w.time()
	w.parts(allParts, d, 0)
	if w.Bad || len(w.Rest) != 0 {
		return errDamaged
	}
	return nil
}
