package pebblestore

import (
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/eventlog"
)

// settling writes the frozen head as blocks, days and postings. The head does not change meanwhile,
// so it needs no lock.
type settling struct {
	head     *eventlog.Head
	sequence uint64 // behind the rows
	put      func(k key, value []byte) error
	blocks   eventlog.Encoder
	entries  []eventlog.Entry
	key      key
	value    []byte
}

// settle settles the frozen head. The caller holds checkpoints.running, so no tenant is deleted and
// no device purged meanwhile.
func (s *Store) settle(tenants []*tenant) error {
	out := tables{store: s}
	x := settling{
		head: s.heads.frozen, sequence: s.heads.behind, put: out.put, key: newKey(0, 0),
	}
	for _, t := range tenants {
		if err := firstError(x.devices(t.number), x.postings(t.number)); err != nil {
			return err
		}
	}
	return out.end()
}

// devices writes the blocks of a tenant, and the days of its devices.
func (x *settling) devices(tenant uint32) error {
	for device := range uint32(x.head.Devices(tenant)) {
		x.gather(tenant, device)
		for rest := x.entries; len(rest) > 0; {
			day, n := rest[0].Time.Day(), 1
			for n < len(rest) && rest[n].Time.Day() == day {
				n++
			}
			if err := x.day(tenant, device, day, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	return nil
}

// gather reads the entries of a device, newest first, of each the delivery that counts.
func (x *settling) gather(tenant, device uint32) {
	x.entries = x.entries[:0]
	x.head.Walk(tenant, device, func(e eventlog.Entry) bool {
		x.entries = append(x.entries, e)
		return true
	})
	if x.head.Sorted(tenant, device) {
		return
	}
	// Sorting is stable: of two deliveries the newer one comes first, and stands.
	slices.SortStableFunc(x.entries, compareEntries)
	x.entries = slices.CompactFunc(x.entries, func(a, b eventlog.Entry) bool {
		return a.Time == b.Time && a.State == b.State
	})
}

// compareEntries is the order within a block: newest first, and at one instant by name of state.
func compareEntries(a, b eventlog.Entry) int {
	return andon.EventKey{Time: b.Time, State: b.State}.
		Compare(andon.EventKey{Time: a.Time, State: a.State})
}

// day writes the blocks of a device and day.
func (x *settling) day(tenant, device, day uint32, entries []eventlog.Entry) error {
	for len(entries) > 0 {
		n := eventlog.BlockOf(entries)
		x.value = x.blocks.Append(x.value[:0], entries[:n])
		x.key = x.key.begin(tableBlock, tenant).block(day, device, spanned{
			newest: entries[0].Time, oldest: entries[n-1].Time, sequence: x.sequence,
		})
		if err := x.put(x.key, x.value); err != nil {
			return err
		}
		entries = entries[n:]
	}
	x.key = x.key.begin(tableDay, tenant).number(device).inverted(day)
	return x.put(x.key, nil)
}

// postings writes in which hours which devices have entries of an operator.
func (x *settling) postings(tenant uint32) error {
	for _, operator := range x.head.Operators(tenant) {
		for _, hour := range x.head.Hours(tenant, operator) {
			devices := slices.Clone(x.head.HourDevices(tenant, operator, hour))
			if err := x.posting(tenant, operator, hour, devices); err != nil {
				return err
			}
		}
	}
	return nil
}

// posting writes the devices of an operator in an hour, which it puts into order.
func (x *settling) posting(
	tenant uint32, operator andon.PersonID, hour uint32, devices []uint32,
) error {
	slices.Sort(devices)
	part := uint64(0)
	for some := range slices.Chunk(slices.Compact(devices), postingDevices) {
		x.value = appendPosting(x.value[:0], some)
		x.key = x.key.begin(tablePosting, tenant).text(string(operator)).number(hour).
			short(x.sequence, sequenceBytes).short(part, 2)
		if err := x.put(x.key, x.value); err != nil {
			return err
		}
		part++
	}
	return nil
}
