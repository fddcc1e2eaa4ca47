package layout

import (
	"encoding/binary"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// What a row changes of what devices show is stored under the same sequence, in the same batch.
// Unlike the row it has the whole of what was shown before and is shown since: a reader of the feed
// may begin anywhere. A row that changes nothing visible, as of reports that repeat, has none.
//
//	row     { change }…, or of the tenant: kind 1 byte | its document
//	change  kind 1 byte | parts 1 byte | device text | before | since | entry
//	parts   1 before    2 since    4 the entry, where that is not the one since shows
//	before  flags 1 byte | state text | severity 1 byte | since zigzag, from 0 |
//	        operator text | escalated | incident | retired
//	since   the same, its since from that of before; then the time of its newest entry zigzag,
//	        from its since, and its arrival zigzag, from that time
//	flags   1 escalated: to text | time of the entry zigzag, from since | its state text | at
//	        2 incident: zigzag, from since        4 retired: zigzag, from since
//	        8 the operator is that of before, and left out
//	entry   time zigzag, from 0 | state text
const (
	changeBefore = 1 << iota
	changeSince
	changeEntry
)

const (
	shownEscalated = 1 << iota
	shownIncident
	shownRetired
	shownOperator
)

// AppendChange encodes a change of what a device shows.
func AppendChange(b []byte, c *andon.Change) []byte {
	var parts byte
	var newest andon.EntryRef
	if c.Before != nil {
		parts |= changeBefore
	}
	if c.After != nil {
		parts |= changeSince
		newest = andon.EntryRef{Time: c.After.Time, State: c.After.State}
	}
	if c.Kind == andon.ByEntry && c.Entry != newest {
		parts |= changeEntry
	}
	b = varint.AppendText(append(b, byte(c.Kind), parts), c.Device)
	if c.Before != nil {
		b = appendShown(b, c.Before, &andon.Device{})
	}
	if c.After != nil {
		before := c.Before
		if before == nil {
			before = &andon.Device{}
		}
		b = appendShown(b, c.After, before)
		b = binary.AppendVarint(b, int64(c.After.Time-c.After.Since))
		b = binary.AppendVarint(b, int64(c.After.Received-c.After.Time))
	}
	if parts&changeEntry != 0 {
		b = varint.AppendText(binary.AppendVarint(b, int64(c.Entry.Time)), c.Entry.State)
	}
	return b
}

// appendShown encodes what a device shows, given what it showed before.
func appendShown(b []byte, d, before *andon.Device) []byte {
	var flags byte
	set := func(is bool, flag byte) {
		if is {
			flags |= flag
		}
	}
	set(d.EscalatedTo != "", shownEscalated)
	set(d.IncidentSince != 0, shownIncident)
	set(d.LastRetired != 0, shownRetired)
	set(d.Operator == before.Operator, shownOperator)
	b = append(varint.AppendText(append(b, flags), d.State), d.Severity)
	b = binary.AppendVarint(b, int64(d.Since-before.Since))
	if flags&shownOperator == 0 {
		b = varint.AppendText(b, d.Operator)
	}
	if flags&shownEscalated != 0 {
		b = varint.AppendText(b, d.EscalatedTo)
		b = binary.AppendVarint(b, int64(d.EscalatedEntry.Time-d.Since))
		b = varint.AppendText(b, d.EscalatedEntry.State)
		b = binary.AppendVarint(b, int64(d.EscalatedAt-d.EscalatedEntry.Time))
	}
	if flags&shownIncident != 0 {
		b = binary.AppendVarint(b, int64(d.IncidentSince-d.Since))
	}
	if flags&shownRetired != 0 {
		b = binary.AppendVarint(b, int64(d.LastRetired-d.Since))
	}
	return b
}

// Change reads what AppendChange wrote, after the kind.
func (w *Reader) Change(c *andon.Change) {
	parts := w.Byte()
	c.Device = andon.DeviceID(w.Str())
	before := &andon.Device{}
	if parts&changeBefore != 0 {
		before = w.Shown(c.Device, before)
		c.Before = before
	}
	if parts&changeSince != 0 {
		d := w.Shown(c.Device, before)
		d.Time = d.Since + andon.Time(w.Signed())
		d.Received = d.Time + andon.Time(w.Signed())
		c.After, c.Entry = d, andon.EntryRef{Time: d.Time, State: d.State}
	}
	switch {
	case parts&changeEntry != 0:
		c.Entry = andon.EntryRef{Time: andon.Time(w.Signed()), State: andon.State(w.Str())}
	case c.Kind != andon.ByEntry:
		c.Entry = andon.EntryRef{}
	}
}

// Shown reads what appendShown wrote.
func (w *Reader) Shown(id andon.DeviceID, before *andon.Device) *andon.Device {
	flags := w.Byte()
	d := &andon.Device{ID: id, State: andon.State(w.Str()), Severity: w.Byte()}
	d.Since, d.Operator = before.Since+andon.Time(w.Signed()), before.Operator
	if flags&shownOperator == 0 {
		d.Operator = andon.PersonID(w.Str())
	}
	if flags&shownEscalated != 0 {
		d.EscalatedTo = andon.PersonID(w.Str())
		d.EscalatedEntry.Time = d.Since + andon.Time(w.Signed())
		d.EscalatedEntry.State = andon.State(w.Str())
		d.EscalatedAt = d.EscalatedEntry.Time + andon.Time(w.Signed())
	}
	if flags&shownIncident != 0 {
		d.IncidentSince = d.Since + andon.Time(w.Signed())
	}
	if flags&shownRetired != 0 {
		d.LastRetired = d.Since + andon.Time(w.Signed())
	}
	return d
}
