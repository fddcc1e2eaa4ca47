package index

import (
	"cmp"
	"maps"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// Writer makes the postings of the entries that a flush writes. Its zero value works.
type Writer struct {
	hours    map[operatorHour]*hourDevices // of the tenant
	last     *hourDevices
	sequence uint64
	put      func(k layout.Key, value []byte) error
	key      layout.Key
	value    []byte
}

type operatorHour struct {
	operator andon.PersonID
	hour     uint32
}

type hourDevices struct {
	operatorHour
	devices []layout.InHour
}

// Note remembers in which hours a device has entries of which operators.
func (x *Writer) Note(device uint32, entries []eventlog.Entry) {
	for i := range entries {
		e := &entries[i]
		if e.Operator == "" {
			continue
		}
		x.find(operatorHour{e.Operator, e.Time.Hour()})
		list, at := x.last.devices, eventlog.MilliOf(e.Time)
		if n := len(list) - 1; n >= 0 && list[n].Device == device {
			list[n].Oldest, list[n].Newest = min(list[n].Oldest, at), max(list[n].Newest, at)
			continue
		}
		x.last.devices = append(list, layout.InHour{Device: device, Oldest: at, Newest: at})
	}
}

// find makes last that of an hour. It nearly always is that already.
func (x *Writer) find(of operatorHour) {
	if x.last != nil && x.last.operatorHour == of {
		return
	}
	if x.hours == nil {
		x.hours = map[operatorHour]*hourDevices{}
	}
	if x.last = x.hours[of]; x.last == nil {
		x.last = &hourDevices{operatorHour: of}
		x.hours[of] = x.last
	}
}

// Write puts the postings of a tenant under the sequence of the flush, and forgets them.
func (x *Writer) Write(
	tenant uint32, sequence uint64, put func(k layout.Key, value []byte) error,
) error {
	x.sequence, x.put = sequence, put
	byName := func(a, b *hourDevices) int {
		return cmp.Or(cmp.Compare(a.operator, b.operator), cmp.Compare(a.hour, b.hour))
	}
	for _, of := range slices.SortedFunc(maps.Values(x.hours), byName) {
		if err := x.posting(tenant, of.operatorHour, layout.JoinDevices(of.devices)); err != nil {
			return err
		}
	}
	clear(x.hours)
	x.last = nil
	return nil
}

func (x *Writer) posting(tenant uint32, of operatorHour, devices []layout.InHour) error {
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
