package items

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// Partitions of a device in addition to its shards.
const (
	PartEscalated   = "escalated"
	PartEscalations = "escalations"
)

// LatestRecord is a newest escalation record. The zero value is that of an entry without one.
type LatestRecord struct {
	andon.Escalation
	Version int64
	Of      Event // the entry as it was when the record was made, for who finds it by the record
}

// Ref returns what names its entry within its device.
func (r *LatestRecord) Ref() andon.EntryRef { return andon.EntryRef{Time: r.Time, State: r.State} }

// Current returns what package current has of it.
func (r *LatestRecord) Current() current.Escalation {
	return current.Escalation{Entry: r.Time, State: r.State, At: r.At, To: r.To}
}

// The attributes of a record of what a person did.
const (
	AttrAt   = "At"
	attrTo   = "To"
	AttrBy   = "By"
	AttrNote = "Note"
)

// Latest returns the mark of the newest escalation record of an entry.
func Latest(d *Device, ref andon.EntryRef) Mark {
	part := ddb.Query{
		Table: TableLog, Key: LogKeys(), Partition: Join(d.Rows(), PartEscalated),
	}
	return Mark{part, ref}
}

// FormerKey returns the key of an earlier one.
func FormerKey(d *Device, r *andon.Escalation) ddb.Item {
	return LogKeys().Item(Join(d.Rows(), PartEscalations),
		StateDate(r.State, r.Time)+"#"+TimeText(r.At)+"#"+Escape(string(r.To)))
}

// EscalationItem adds what is kept of a record to its key.
func EscalationItem(i ddb.Item, r *andon.Escalation) ddb.Item {
	i[AttrAt] = ddb.Number(r.At)
	i.SetText(attrTo, string(r.To))
	i.SetText(AttrBy, string(r.By))
	i.SetText(AttrNote, r.Note)
	return i
}

// ReadEscalation reads an escalation record.
func ReadEscalation(i ddb.Item) (andon.Escalation, bool, error) {
	ref, _, err := SplitStateDate(i.Text(AttrStateDate))
	_, device := SplitDevice(i.Text(AttrDevice))
	return andon.Escalation{
		Device: device, Time: ref.Time, State: ref.State, At: i.Time(AttrAt),
		To: andon.PersonID(i.Text(attrTo)), By: andon.PersonID(i.Text(AttrBy)),
		Note: i.Text(AttrNote),
	}, true, err
}

// Item returns what is stored of a newest record. It has no Date, so it is not in GSI1.
func (r *LatestRecord) Item(d *Device, version int64) ddb.Item {
	i := EscalationItem(Latest(d, r.Ref()).Item(), &r.Escalation)
	i[AttrVersion] = ddb.Number(version)
	if r.To != "" {
		of := Event{Event: andon.Event{Device: r.Device, Time: r.Time, State: r.State}}
		i[AttrEscalated] = ddb.Text(indexKey(d.Tenant, OfSupervisor, string(r.To), of.among()))
	}
	if r.Of.Delivery != 0 {
		r.Of.setContent(i, d.Tenant)
	}
	return i
}

// ReadLatest reads a newest record, with its version.
func ReadLatest(i ddb.Item) (LatestRecord, error) {
	r, _, err := ReadEscalation(i)
	return LatestRecord{Escalation: r, Version: i.Int(AttrVersion)}, err
}

// ReadEscalated reads the entry of a newest record.
func ReadEscalated(i ddb.Item) (e Event, ok bool, err error) {
	if e, ok, err = ReadEvent(i); err == nil {
		e.Record, ok, err = ReadEscalation(i)
	}
	return e, ok, err
}
