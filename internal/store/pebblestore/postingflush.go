package pebblestore

import (
	"cmp"
	"maps"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// postingWriter writes the postings of the entries that are flushed.
type postingWriter struct {
	hours    map[personHour]*posted // of the tenant
	last     *posted
	sequence uint64
	put      func(k layout.Key, value []byte) error
	key      layout.Key
	value    []byte
}

// personHour is an hour of an operator.
type personHour struct {
	operator andon.PersonID
	hour     uint32
}

// posted are the devices with entries of an operator in an hour.
type posted struct {
	personHour
	devices []layout.InHour
}

// note remembers in which hours a device has entries of whom.
func (x *postingWriter) Note(device uint32, entries []eventlog.Entry) error {
	for i := range entries {
		e := &entries[i]
		if e.Operator == "" {
			continue
		}
		x.find(personHour{e.Operator, e.Time.Hour()})
		list, at := x.last.devices, eventlog.MilliOf(e.Time)
		if n := len(list) - 1; n >= 0 && list[n].Device == device {
			list[n].Oldest, list[n].Newest = min(list[n].Oldest, at), max(list[n].Newest, at)
			continue
		}
		x.last.devices = append(list, layout.InHour{Device: device, Oldest: at, Newest: at})
	}
	return nil
}

// find makes last that of an hour, which nearly always is the one that it was.
func (x *postingWriter) find(of personHour) {
	if x.last != nil && x.last.personHour == of {
		return
	}
	if x.hours == nil {
		x.hours = map[personHour]*posted{}
	}
	if x.last = x.hours[of]; x.last == nil {
		x.last = &posted{personHour: of}
		x.hours[of] = x.last
	}
}

// postings writes in which hours which devices have entries of an operator.
func (x *postingWriter) Write(
	tenant uint32, sequence uint64, put func(k layout.Key, value []byte) error,
) error {
	x.sequence, x.put = sequence, put
	byName := func(a, b *posted) int {
		return cmp.Or(cmp.Compare(a.operator, b.operator), cmp.Compare(a.hour, b.hour))
	}
	for _, of := range slices.SortedFunc(maps.Values(x.hours), byName) {
		if err := x.posting(tenant, of.personHour, layout.JoinDevices(of.devices)); err != nil {
			return err
		}
	}
	clear(x.hours)
	x.last = nil
	return nil
}

// posting writes the devices of an operator in an hour.
func (x *postingWriter) posting(tenant uint32, of personHour, devices []layout.InHour) error {
	part := uint64(0)
	for some := range slices.Chunk(devices, layout.PostingDevices) {
		x.value = layout.AppendPosting(x.value[:0], some)
		x.key = x.key.Begin(layout.TablePosting, tenant).Text(string(of.operator)).Number(of.hour).
			Uint(x.sequence, layout.SequenceBytes).Uint(part, 2)
		if err := x.put(x.key, x.value); err != nil {
			return err
		}
		part++
	}
	return nil
}
