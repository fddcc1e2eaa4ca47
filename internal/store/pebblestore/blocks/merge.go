package blocks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Each flush adds a run to a day, in which a device that sends little has a small block. So runs of
// one day are merged, neighbours of one level into one of the next level, when there are MergeRuns
// of them, and those that were never merged when flushes no longer add to the day. An entry is
// written again once in a day of 256 flushes, and twice in one of 4,096.
//
// A merge runs concurrently with flushes. It reads runs that do not change any more, writes the
// tables of the new run next to the store, and has the engine ingest them. Then readers use the new
// run in place of the old ones, and after that the old ones are excised. The engine could ingest
// the tables and excise the old runs in one step, but that step is not atomic for its readers: an
// iterator that is opened during it may see neither. Until readers use the new run, a crash, or a
// deletion of rows that the merge has read, leaves everything as it was.
//
// Only runs of flushes that have ended are merged: a flush that is repeated writes under the same
// keys, and would replace merged blocks by its own part of them alone.
const (
	MergeRuns    = 16 // that make a merge worth it
	quietRuns    = 4  // ... of a day that is quiet
	quietFlushes = 8  // flushes without a run that make a day quiet
	mostRuns     = 64 // that are merged at once
)

type tenantDay struct{ tenant, day uint32 }

type merges struct {
	engine.Job
	running engine.RWMutex // held by a merge
	mu      engine.RWMutex // guards which runs there are, and the fields below
	// candidates are the days that may have runs to merge.
	candidates map[tenantDay]bool
	current    *merger // the merge under way, nil where there is none
	// dropped are the runs whose blocks are still to be excised.
	dropped []droppedRuns
	// flushed are the sequences of the last flushes, the newest first.
	flushed [quietFlushes + 1]uint64
}

// purged says that a device is deleted. The caller holds mu.
func (m *merges) purged(tenant uint32, device []byte) {
	if m.current != nil && m.current.tenant.Number == tenant {
		m.current.purged = append(m.current.purged, device)
	}
}

// expired says that the days of a tenant before one are deleted. The caller holds mu.
func (m *merges) expired(tenant, before uint32) {
	if m.current != nil && m.current.tenant.Number == tenant && m.current.day < before {
		m.current.stale = true
	}
}

// Start starts merging in the background.
func (l *Log) Start() {
	l.merges.Job.Start(func() {
		if err := l.Merge(); err != nil && l.Pacing.Stopping.Err() == nil {
			l.Env.Log.Error("blocks were not merged; all of them are there", "of", l.Name,
				"error", err)
		}
	})
	l.merges.Want()
}

// mergeTables begins the names of the files of a merge.
func (l *Log) mergeTables() string { return mergeTables + l.Name + "-" }

// Stop waits until the merge that was asked for has ended.
func (l *Log) Stop() { l.merges.Stop() }

// Merge merges until nothing is due.
func (l *Log) Merge() error { return l.mergeAs(l.merges.due) }

// MergeAll merges the runs of each day into one, but for those of a flush that has not ended.
func (l *Log) MergeAll() error {
	l.merges.mu.Lock()
	for _, t := range l.tenants() {
		for _, day := range t.Runs.Load().Days() {
			l.merges.candidates[tenantDay{t.Number, day}] = true
		}
	}
	l.merges.mu.Unlock()
	return l.mergeAs(func(runs []layout.Run) []layout.Run {
		if runs = l.merges.ended(runs); len(runs) > 1 {
			return runs[:min(len(runs), mostRuns)]
		}
		return nil
	})
}

// mergeAs merges until due returns no runs of a day any more.
func (l *Log) mergeAs(due func(runs []layout.Run) []layout.Run) error {
	for more := true; more && l.Pacing.Stopping.Err() == nil && l.Check() == nil; {
		var err error
		if more, err = l.mergeNext(due); err != nil {
			return err
		}
	}
	return nil
}

// ended returns those of the runs of a day whose flushes have ended.
func (m *merges) ended(runs []layout.Run) []layout.Run {
	for len(runs) > 0 && runs[len(runs)-1].Sequence > m.flushed[0] {
		runs = runs[:len(runs)-1]
	}
	return runs
}

// due returns which of the runs of a day are to be merged: neighbours of one level.
func (m *merges) due(runs []layout.Run) []layout.Run {
	runs = m.ended(runs)
	quiet := m.isQuiet(runs)
	for to := len(runs); to > 0; {
		from, level := to-1, runs[to-1].Level
		for from > 0 && runs[from-1].Level == level && to-from < mostRuns {
			from--
		}
		if n := to - from; n >= MergeRuns || quiet && level == 0 && n >= quietRuns {
			return runs[from:to]
		}
		to = from
	}
	return nil
}

// isQuiet reports whether the last flushes gave a day no run.
func (m *merges) isQuiet(runs []layout.Run) bool {
	return len(runs) > 0 && runs[len(runs)-1].Sequence <= m.flushed[quietFlushes]
}

// mergeNext merges the runs of a day that is due, and reports whether there may be more.
func (l *Log) mergeNext(due func([]layout.Run) []layout.Run) (more bool, err error) {
	l.merges.running.Lock()
	defer l.merges.running.Unlock()
	if err := l.Excise(); err != nil {
		return false, err
	}
	m := l.nextMerge(due)
	if m == nil {
		return false, nil
	}
	defer m.close()
	err = m.merge()
	l.merges.mu.Lock()
	l.merges.current = nil
	if err != nil {
		// Until it has another run.
		delete(l.merges.candidates, tenantDay{m.tenant.Number, m.day})
	}
	l.merges.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("merge blocks: %w", err)
		return false, errors.Join(err, l.RemoveTables(l.mergeTables()))
	}
	return true, nil
}

// nextMerge returns the merge of a day that is due, nil if there is none.
func (l *Log) nextMerge(due func([]layout.Run) []layout.Run) *merger {
	tenants := map[uint32]*Tenant{}
	for _, t := range l.tenants() {
		tenants[t.Number] = t
	}
	l.merges.mu.Lock()
	defer l.merges.mu.Unlock()
	for of := range l.merges.candidates {
		t := tenants[of.tenant]
		if t == nil {
			delete(l.merges.candidates, of)
			continue
		}
		runs := t.Runs.Load().On(of.day)
		if some := due(runs); some != nil {
			return l.newMerge(t, of.day, some)
		}
		if len(runs) == 0 || l.merges.isQuiet(runs) {
			delete(l.merges.candidates, of) // nothing will be due, until it has another run
		}
	}
	return nil
}

type merger struct {
	log    *Log
	tenant *Tenant
	day    uint32
	from   []layout.Run
	into   layout.Run
	purged [][]byte // devices that were purged since it began
	stale  bool     // what it reads is deleted since it began
	inputs []*input
	opened error // of their opening
	out    Tables
	pace   engine.Pace
	join   joiner
	blocks int    // that were read
	joined uint64 // values that were joined with a later delivery
	key    layout.Key
}

// newMerge begins a merge. The caller holds merges.mu: what its iterators see is what the runs say
// that they have.
func (l *Log) newMerge(t *Tenant, day uint32, of []layout.Run) *merger {
	m := &merger{
		log: l, tenant: t, day: day, from: of, join: l.join(), key: layout.NewKey(0, 0),
	}
	m.into = of[len(of)-1]
	m.into.Entries = 0
	for _, r := range of {
		m.into.Oldest, m.into.Newest = min(m.into.Oldest, r.Oldest), max(m.into.Newest, r.Newest)
		m.into.Level = max(m.into.Level, r.Level)
	}
	m.into.Level++
	// It is late when the day has as many runs again.
	m.pace = l.Pacing.Begin(func() bool {
		return len(t.Runs.Load().On(day)) >= len(of)+2*MergeRuns
	})
	m.out = Tables{Env: l.Env, name: l.mergeTables(), pace: &m.pace}
	m.out.instead = l.span(t.Number, day, m.into.RunID, m.into.RunID)
	m.opened = m.open()
	l.merges.current = m
	return m
}

type input struct {
	it *engine.Iterator
	of layout.Run
	layout.BlockKey
	left   bool   // it is at a block
	values uint64 // of the blocks that were read
}

func (in *input) read(ok bool) error {
	const prefix = 1 + 4 // table and tenant
	if in.left = ok; !ok {
		return in.it.Error()
	}
	if in.BlockKey, ok = layout.SplitBlock(in.it.Key()[prefix:]); !ok {
		return layout.ErrDamaged
	}
	return nil
}

// merge reads all runs to their ends, and only then has the new one take their place.
func (m *merger) merge() error {
	if m.opened != nil {
		return m.opened
	}
	if err := m.devices(); err != nil {
		return err
	}
	if err := m.count(); err != nil {
		return err
	}
	return m.commit()
}

// count compares what was read with what the runs say that they have, and with what was written.
func (m *merger) count() error {
	read := uint64(0)
	for _, in := range m.inputs {
		if err := in.of.CheckCount(in.values, m.log.Name); err != nil {
			return err
		}
		read += in.values
	}
	if read != m.into.Entries+m.joined {
		return fmt.Errorf("%d %s were read, %d written, and %d joined with a later delivery",
			read, m.log.Name, m.into.Entries, m.joined)
	}
	return nil
}

func (m *merger) open() error {
	for _, r := range slices.Backward(m.from) { // so that values mostly come newest first
		k := layout.NewKey(m.log.Blocks, m.tenant.Number).Run(m.day, r.RunID)
		it, err := engine.NewIterator(m.log.Pacing.Stopping, m.log.DB, k, k.End())
		if err != nil {
			return err
		}
		in := &input{it: it, of: r}
		m.inputs = append(m.inputs, in)
		if err := in.read(it.First()); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) close() {
	for _, in := range m.inputs {
		in.it.Release()
	}
}

func (m *merger) devices() error {
	var device []byte
	for {
		left := 0
		for _, in := range m.inputs {
			if !in.left {
				continue
			}
			c := -1
			if left > 0 {
				c = bytes.Compare(in.Device, device)
			}
			if c < 0 {
				device, left = append(device[:0], in.Device...), 0
			}
			if c <= 0 {
				left++
			}
		}
		if left == 0 {
			return nil
		}
		if err := m.device(device, left == 1); err != nil {
			return err
		}
	}
}

// device merges the blocks of a device. Those of one run alone stay as they are.
func (m *merger) device(device []byte, alone bool) error {
	for _, in := range m.inputs {
		for in.left && bytes.Equal(in.Device, device) {
			if err := m.block(in, device, alone); err != nil {
				return err
			}
		}
	}
	m.pace.Did(m.join.values() * valueWork)
	joined, err := m.join.blocks(func(at layout.BlockSpan, value []byte) error {
		return m.put(device, at, value)
	})
	m.joined += uint64(joined)
	return err
}

// valueWork is about how many bytes a value is where it is flushed.
const valueWork = 100

func (m *merger) block(in *input, device []byte, alone bool) error {
	value, err := in.it.ValueAndErr()
	if err != nil {
		return err
	}
	n, ok := m.log.Count(value)
	if !ok {
		return layout.ErrDamaged
	}
	m.blocks++
	in.values += uint64(n)
	if alone {
		err = m.put(device, in.BlockSpan, value)
	} else {
		err = m.join.take(value, in.BlockSpan)
	}
	if err != nil {
		return err
	}
	return in.read(in.it.Next())
}

func (m *merger) put(device []byte, at layout.BlockSpan, value []byte) error {
	n, ok := m.log.Count(value)
	if !ok {
		return layout.ErrDamaged
	}
	m.into.Entries += uint64(n)
	m.key = m.log.device(m.key, m.tenant.Number, m.day, m.into.RunID, device).
		Times(m.day, at.Newest, at.Oldest)
	return m.out.Put(m.key, value)
}

// commit replaces the old runs by the new one. The row of the new run is on the disk before its
// blocks, so that what a crash leaves of them is known.
func (m *merger) commit() error {
	l := m.log
	l.merges.mu.Lock()
	defer l.merges.mu.Unlock()
	if m.stale {
		return l.RemoveTables(l.mergeTables())
	}
	if err := m.take(); err != nil {
		l.merges.drop(m.tenant.Number, m.day, m.into)
		return err
	}
	l.Merged.Add(int64(m.blocks))
	l.merges.drop(m.tenant.Number, m.day, m.from...)
	return l.exciseLocked()
}

// take has the engine ingest the new run, and readers use it.
func (m *merger) take() error {
	incomplete := m.into
	incomplete.Dropped = true
	if err := m.write(incomplete); err != nil {
		return err
	}
	if err := m.out.Ingest(); err != nil {
		return err
	}
	if err := m.purge(); err != nil {
		return err
	}
	gone := slices.Clone(m.from)
	for i := range gone {
		gone[i].Dropped = true
	}
	if err := m.write(append(gone, m.into)...); err != nil {
		return err
	}
	list := *m.tenant.Runs.Load()
	runs := slices.DeleteFunc(slices.Clone(list.On(m.day)), func(r layout.Run) bool {
		return slices.ContainsFunc(gone, func(g layout.Run) bool { return g.RunID == r.RunID })
	})
	list = list.with(m.day, withRun(runs, m.into))
	m.tenant.Runs.Store(&list)
	return nil
}

// purge deletes from the new run what it has of devices that were purged since the merge began.
func (m *merger) purge() error {
	batch := engine.NewBatch(m.log.DB)
	defer batch.Release()
	for _, device := range m.purged {
		blocks := m.log.device(
			layout.NewKey(0, 0), m.tenant.Number, m.day, m.into.RunID, device)
		values, err := m.log.valuesBelow(m.log.Pacing.Stopping, blocks)
		if err != nil {
			return err
		}
		m.into.Entries -= values
		batch.RemovePrefix(blocks)
	}
	if err := batch.Write(pebble.NoSync); err != nil { // the row of the run follows, synced
		return fmt.Errorf("purge merged blocks: %w", err)
	}
	return nil
}

// write writes the rows of runs, and waits for the disk.
func (m *merger) write(runs ...layout.Run) error {
	batch := engine.NewBatch(m.log.DB)
	defer batch.Release()
	for _, r := range runs {
		batch.Put(m.log.run(m.tenant.Number, m.day, r.RunID), r.Value(m.day))
	}
	if err := batch.Write(pebble.Sync); err != nil {
		return fmt.Errorf("write runs: %w", err)
	}
	return nil
}

// droppedRuns are neighbouring runs of a day, by rising sequence, that no reader looks into.
type droppedRuns struct {
	tenant, day uint32
	runs        []layout.Run
}

// drop has runs excised. The caller holds mu.
func (m *merges) drop(tenant, day uint32, runs ...layout.Run) {
	m.dropped = append(m.dropped, droppedRuns{tenant, day, runs})
}

// IsDropped reports whether the blocks of a run are to be excised.
func (l *Log) IsDropped(tenant, day uint32, id layout.RunID) bool {
	return slices.ContainsFunc(l.merges.dropped, func(d droppedRuns) bool {
		return d.tenant == tenant && d.day == day &&
			slices.ContainsFunc(d.runs, func(r layout.Run) bool { return r.RunID == id })
	})
}

// Excise gives back the space of the runs that were dropped, those that a crash left among them.
func (l *Log) Excise() error {
	l.merges.mu.Lock()
	defer l.merges.mu.Unlock()
	return l.exciseLocked()
}

// exciseLocked is excise for a caller that holds merges.mu.
func (l *Log) exciseLocked() error {
	for m := &l.merges; len(m.dropped) > 0; m.dropped = m.dropped[1:] {
		d := m.dropped[0]
		blocks := l.span(d.tenant, d.day, d.runs[0].RunID, d.runs[len(d.runs)-1].RunID)
		err := l.Pacing.Urgently(func() error { return l.DB.Excise(context.Background(), blocks) })
		if err != nil {
			return fmt.Errorf("excise runs that were merged: %w", err)
		}
		b := engine.NewBatch(l.DB)
		for _, r := range d.runs {
			b.Remove(l.run(d.tenant, d.day, r.RunID))
		}
		err = b.Write(pebble.NoSync)
		b.Release()
		if err != nil {
			return fmt.Errorf("forget runs that were merged: %w", err)
		}
	}
	return nil
}
