package blocks

import (
	"context"
	"slices"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// flusher writes the frozen memtable as blocks and days. The memtable does not change meanwhile, so
// it needs no lock.
type flusher struct {
	memtable *eventlog.Head
	sequence uint64 // after the rows
	put      func(k layout.Key, value []byte) error
	blocks   eventlog.Encoder
	entries  []eventlog.Entry
	key      layout.Key
	value    []byte
	did      func(entries int)
	tenant   *Tenant
	index    Index
	runs     map[uint32]*layout.Run                  // by day: those that got blocks
	enter    func(*Tenant, uint32, layout.Run) error // enters a run of a day
}

// Index receives the entries that are flushed, to index them in the same tables.
type Index interface {
	// Note gets the entries of a device, newest first, which are valid until it returns. An error
	// breaks the flush off.
	Note(device uint32, entries []eventlog.Entry) error
	// Write writes the rows of a tenant, all of whose entries were noted.
	Write(tenant uint32, sequence uint64, put func(k layout.Key, value []byte) error) error
}

// write is Flush.Write. The caller holds Log.flushing, so that no tenant is deleted and no device
// purged meanwhile.
func (l *Log) write(
	ctx context.Context, tenants []*Tenant, x Index, also func(out *Tables) error,
) error {
	p := l.Pacing.Begin(l.Memory.late)
	most := l.Table + l.Table/16 // where one more row fills it
	out := Tables{
		Env: l.Env, name: EntryTables, pace: &p,
		bytes: make([]byte, 0, min(l.Memory.frozen.Bytes(), most)),
	}
	f := l.flusher(out.Put, &p)
	f.index = x
	for _, t := range tenants {
		if err := f.devices(ctx, t); err != nil {
			return err
		}
		if err := x.Write(t.number, f.sequence, out.Put); err != nil {
			return err
		}
	}
	if also != nil {
		if err := also(&out); err != nil {
			return err
		}
	}
	return out.End()
}

func (l *Log) flusher(put func(layout.Key, []byte) error, p *engine.Pace) flusher {
	return flusher{
		memtable: l.Memory.frozen, sequence: l.Memory.next, put: put, key: layout.NewKey(0, 0),
		did: func(entries int) {
			l.Memory.flushed.Add(int64(entries))
			p.Did(entries * entryWork)
		},
		enter: l.entering(put),
	}
}

// entering returns what enters a run of a day: with its rows on the disk, and for readers.
func (l *Log) entering(put func(layout.Key, []byte) error) func(*Tenant, uint32,
	layout.Run) error {
	return func(t *Tenant, day uint32, r layout.Run) error {
		l.addRun(t, day, r)
		return put(layout.RunKey(t.number, day, r.RunID), r.Value(day))
	}
}

// entryWork is about how many bytes an entry is where it is flushed.
const entryWork = 100

// devices writes the blocks of a tenant, and the days of its devices.
func (x *flusher) devices(ctx context.Context, t *Tenant) error {
	const (
		some = 64  // entries that are reported at once: each time costs
		part = 256 // devices, before it checks its context
	)
	x.begin(t)
	done := 0
	defer func() { x.did(done) }()
	for device := range uint32(x.memtable.Devices(t.number)) {
		if device%part == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		x.gather(t.number, device)
		if err := x.index.Note(device, x.entries); err != nil {
			return err
		}
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

func (x *flusher) begin(t *Tenant) { x.tenant, x.runs = t, map[uint32]*layout.Run{} }

// end says when the runs begin and end that got blocks, and how many entries they have.
func (x *flusher) end() error {
	for day, r := range x.runs {
		if err := x.enter(x.tenant, day, *r); err != nil {
			return err
		}
	}
	return nil
}

// run returns the run of a day. It is entered before it has blocks, and as of the whole day.
func (x *flusher) run(day uint32) (*layout.Run, error) {
	if r := x.runs[day]; r != nil {
		return r, nil
	}
	r := layout.NewRun(day, x.sequence)
	if err := x.enter(x.tenant, day, r); err != nil {
		return nil, err
	}
	r.Oldest, r.Newest, r.Entries = r.Newest, r.Oldest, 0
	x.runs[day] = &r
	return &r, nil
}

// gather reads the entries of a device, newest first, of each the delivery that wins.
func (x *flusher) gather(tenant, device uint32) {
	x.entries = x.entries[:0]
	x.memtable.Walk(tenant, device, func(e eventlog.Entry) bool {
		x.entries = append(x.entries, e)
		return true
	})
	if x.memtable.Sorted(tenant, device) {
		return
	}
	// Sorting is stable: of two deliveries the newer one comes first, and wins.
	slices.SortStableFunc(x.entries, eventlog.CompareEntries)
	x.entries = slices.CompactFunc(x.entries, func(a, b eventlog.Entry) bool {
		return a.Time == b.Time && a.State == b.State
	})
}

// blocksOf writes the blocks of a device and day.
func (x *flusher) blocksOf(device, day uint32, entries []eventlog.Entry) error {
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
