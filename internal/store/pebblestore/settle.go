package pebblestore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// settling writes the frozen head as blocks, days and postings. The head does not change meanwhile,
// so it needs no lock.
type settling struct {
	head     *eventlog.Head
	sequence uint64 // behind the rows
	put      func(k layout.Key, value []byte) error
	blocks   eventlog.Encoder
	entries  []eventlog.Entry
	hours    map[personHour]*posted // of the tenant
	last     *posted
	key      layout.Key
	value    []byte
	did      func(entries int)
	tenant   *tenant
	runs     map[uint32]*layout.Run                  // by day: those that got blocks
	list     func(*tenant, uint32, layout.Run) error // enters a run of a day
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

// settle settles the frozen head, and writes the devices that have changed if it is to. The caller
// holds checkpoints.running, so no tenant is deleted and no device purged meanwhile.
func (s *Store) settle(ctx context.Context, tenants []*tenant, devices bool) error {
	p := s.options.pacing.Begin(s.heads.late)
	most := s.options.table + s.options.table/16 // where one more row fills it
	out := tables{
		store: s, name: entryTables, pace: &p,
		bytes: make([]byte, 0, min(s.heads.frozen.Bytes(), most)),
	}
	x := s.settling(out.put, &p)
	for _, t := range tenants {
		if err := x.devices(ctx, t); err != nil {
			return err
		}
		if err := x.postings(t.number); err != nil {
			return err
		}
	}
	if !devices {
		return out.end()
	}
	for _, t := range tenants {
		if err := s.checkpointTenant(ctx, t, &out); err != nil {
			return err
		}
	}
	return out.end()
}

func (s *Store) settling(put func(layout.Key, []byte) error, p *engine.Pace) settling {
	return settling{
		head: s.heads.frozen, sequence: s.heads.behind, put: put, key: layout.NewKey(0, 0),
		did: func(entries int) {
			s.heads.settled.Add(int64(entries))
			p.Did(entries * entryWork)
		},
		list: s.listing(put),
	}
}

// listing returns what enters a run of a day: with its rows on the disk, and for readers.
func (s *Store) listing(put func(layout.Key, []byte) error) func(*tenant, uint32,
	layout.Run) error {
	return func(t *tenant, day uint32, r layout.Run) error {
		s.addRun(t, day, r)
		return put(layout.RunKey(t.number, day, r.RunID), r.Value(day))
	}
}

// entryWork is about how many bytes an entry is where it is settled.
const entryWork = 100

// devices writes the blocks of a tenant, and the days of its devices.
func (x *settling) devices(ctx context.Context, t *tenant) error {
	const (
		some = 64  // entries that are told of at once: each time costs
		part = 256 // devices, before it looks whether it is broken off
	)
	x.begin(t)
	done := 0
	defer func() { x.did(done) }()
	for device := range uint32(x.head.Devices(t.number)) {
		if device%part == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		x.gather(t.number, device)
		x.note(device, x.entries)
		if done += len(x.entries); done >= some {
			x.did(done)
			done = 0
		}
		for rest := x.entries; len(rest) > 0; {
			day, n := rest[0].Time.Day(), 1
			for n < len(rest) && rest[n].Time.Day() == day {
				n++
			}
			if err := x.blocksOf(device, day, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	return x.end()
}

func (x *settling) begin(t *tenant) { x.tenant, x.runs = t, map[uint32]*layout.Run{} }

// end says when the runs begin and end that got blocks, and how many entries they have.
func (x *settling) end() error {
	for day, r := range x.runs {
		if err := x.list(x.tenant, day, *r); err != nil {
			return err
		}
	}
	return nil
}

// run returns the run of a day. It is entered before it has blocks, and as of the whole day.
func (x *settling) run(day uint32) (*layout.Run, error) {
	if r := x.runs[day]; r != nil {
		return r, nil
	}
	r := layout.NewRun(day, x.sequence)
	if err := x.list(x.tenant, day, r); err != nil {
		return nil, err
	}
	r.Oldest, r.Newest, r.Entries = r.Newest, r.Oldest, 0
	x.runs[day] = &r
	return &r, nil
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

// blocksOf writes the blocks of a device and day.
func (x *settling) blocksOf(device, day uint32, entries []eventlog.Entry) error {
	r, err := x.run(day)
	if err != nil {
		return err
	}
	r.Newest = max(r.Newest, entries[0].Time)
	r.Oldest = min(r.Oldest, entries[len(entries)-1].Time)
	r.Entries += uint64(len(entries))
	for len(entries) > 0 {
		n := eventlog.BlockOf(entries)
		x.value = x.blocks.Append(x.value[:0], entries[:n])
		x.key = x.key.Begin(layout.TableBlock, x.tenant.number).Run(day, r.RunID).Number(device).
			Times(day, entries[0].Time, entries[n-1].Time)
		if err := x.put(x.key, x.value); err != nil {
			return err
		}
		entries = entries[n:]
	}
	if !x.tenant.entered.add(day, device) {
		return nil
	}
	x.key = x.key.Begin(layout.TableDay, x.tenant.number).Number(device).Inverted(day)
	return x.put(x.key, nil)
}

// note remembers in which hours a device has entries of whom.
func (x *settling) note(device uint32, entries []eventlog.Entry) {
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
}

// find makes last that of an hour, which nearly always is the one that it was.
func (x *settling) find(of personHour) {
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
func (x *settling) postings(tenant uint32) error {
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
func (x *settling) posting(tenant uint32, of personHour, devices []layout.InHour) error {
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
