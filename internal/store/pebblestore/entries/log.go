package entries

import (
	"context"
	"slices"
	"time"

	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/index"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// Log is the entries of all tenants: those in memory, and those in blocks.
type Log struct {
	*blocks.Log
	Memory Memory
	// days are those that the directory of a tenant is known to have. Guarded by the lock of
	// flushes.
	days   map[uint32]*dayNumbers
	recent recent
}

// NewLog returns an empty log, whose entries in memory take at most so many bytes. A write that
// waits for a flush waits for as long as timeout.
func NewLog(
	e *blocks.Env, memory int, timeout time.Duration, tenants func() []*blocks.Tenant,
) *Log {
	l := &Log{
		Log:  blocks.NewLog(e, kind, newCodec, tenants),
		days: map[uint32]*dayNumbers{},
	}
	l.Memory.mu.Rank = engine.LockMemory
	l.Memory.begin(memory, timeout)
	return l
}

// Flush is one flush.
type Flush struct{ log *Log }

// Flush calls do for one flush. It waits while a flush runs, and while something is deleted.
func (l *Log) Flush(do func(f Flush) error) error {
	return l.Log.Flush(func() error { return do(Flush{l}) })
}

// Freeze has new entries go into another memtable, unless the last flush failed and is repeated:
// all rows before a sequence are in the frozen one, which are so many bytes. It belongs to the
// ordered section.
func (f Flush) Freeze(next uint64, bytes int64) { f.log.Memory.freeze(next, bytes) }

// Frozen returns the sequence after the rows that are frozen, and their bytes.
func (f Flush) Frozen() (next uint64, bytes int64) {
	return f.log.Memory.next, f.log.Memory.rows
}

// Write writes the frozen memtable as blocks, and then what also writes. All rows that are frozen
// must be on the disk: a row that a power cut takes must not come back as a block. Where write
// fails, or its context ends, the flush is repeated with the same entries, and perhaps more.
func (f Flush) Write(
	ctx context.Context, tenants []*blocks.Tenant, also func(out *blocks.Tables) error,
) error {
	l := f.log
	p := l.Pacing.Begin(l.Memory.late)
	out := blocks.NewTables(l.Env, blocks.EntryTables, &p, l.Memory.frozen.Bytes())
	var postings index.Writer
	for _, t := range tenants {
		w := flusher{
			RunWriter: blocks.NewRunWriter(l.Log, newCodec(), &out, t, l.Memory.next),
			memtable:  l.Memory.frozen, tenant: t.Number, days: l.daysOf(t.Number),
			postings: &postings, add: out.Add, did: func(entries int) {
				l.Memory.flushed.Add(int64(entries))
				p.Did(entries * entryWork)
			},
		}
		if err := w.devices(ctx); err != nil {
			return f.failed(err)
		}
		if err := postings.Write(t.Number, l.Memory.next, out.Put); err != nil {
			return f.failed(err)
		}
	}
	if also != nil {
		if err := also(&out); err != nil {
			return f.failed(err)
		}
	}
	return f.failed(out.End())
}

// failed forgets which days are in the directory where a flush failed: it may not have written
// them.
func (f Flush) failed(err error) error {
	if err != nil {
		clear(f.log.days)
	}
	return err
}

// End ends a flush, and returns how many entries it has flushed. That all is in blocks must be on
// the disk: from now on only the blocks have the entries.
func (f Flush) End() (entries int) {
	m := &f.log.Memory
	f.log.Ended(m.next)
	entries = m.frozen.Entries()
	m.drop()
	return entries
}

func (l *Log) daysOf(tenant uint32) *dayNumbers {
	if l.days[tenant] == nil {
		l.days[tenant] = new(dayNumbers)
	}
	return l.days[tenant]
}

// flusher writes what the frozen memtable has of a tenant. The memtable does not change meanwhile,
// so it needs no lock.
type flusher struct {
	*blocks.RunWriter[eventlog.Entry]
	memtable *eventlog.Memtable
	tenant   uint32
	days     *dayNumbers
	postings *index.Writer
	add      func(k layout.Key, value []byte)
	did      func(entries int)
	entries  []eventlog.Entry // of a device
	key      layout.Key
}

// entryWork is about how many bytes an entry is where it is flushed.
const entryWork = 100

func (x *flusher) devices(ctx context.Context) error {
	const (
		some = 64  // entries that are reported at once: each time costs
		part = 256 // devices, before it checks its context
	)
	done := 0
	defer func() { x.did(done) }()
	for device := range uint32(x.memtable.Devices(x.tenant)) {
		if device%part == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		x.gather(device)
		if len(x.entries) == 0 {
			continue
		}
		x.postings.Note(device, x.entries)
		if done += len(x.entries); done >= some {
			x.did(done)
			done = 0
		}
		if err := x.device(device); err != nil {
			return err
		}
	}
	return x.End()
}

func (x *flusher) device(device uint32) error {
	x.key = x.key[:0].Number(device)
	for rest := x.entries; len(rest) > 0; {
		day, n := rest[0].Time.Day(), 1
		for n < len(rest) && rest[n].Time.Day() == day {
			n++
		}
		if x.days.add(day, device) { // on the disk with its first block, which a purge finds by it
			x.add(layout.NewKey(layout.TableDay, x.tenant).Number(device).Inverted(day), nil)
		}
		if err := x.RunWriter.Write(x.key, day, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// gather reads the entries of a device, newest first, of each the delivery that wins.
func (x *flusher) gather(device uint32) {
	x.entries = x.entries[:0]
	x.memtable.Walk(x.tenant, device, func(e eventlog.Entry) bool {
		x.entries = append(x.entries, e)
		return true
	})
	if x.memtable.Sorted(x.tenant, device) {
		return
	}
	// Sorting is stable: of two deliveries the newer one comes first, and wins.
	slices.SortStableFunc(x.entries, eventlog.CompareEntries)
	x.entries = slices.CompactFunc(x.entries, func(a, b eventlog.Entry) bool {
		return a.Time == b.Time && a.State == b.State
	})
}
