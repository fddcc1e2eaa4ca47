package blocks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
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

// merges is what is merged when.
type merges struct {
	engine.Job
	running engine.Mutex // held by a merge
	mu      engine.Mutex // guards which runs there are, and the fields below
	// candidates are the days that may have runs to merge.
	candidates map[engine.TenantDay]bool
	current    *merger // the merge under way, nil where there is none
	// dropped are the runs whose blocks are still to be excised.
	dropped []droppedRuns
	// flushed are the sequences after the rows of the last flushes, the newest first.
	flushed [quietFlushes + 1]uint64
	quiet   int // quietRuns; tests have fewer
}

// ended says that a flush has ended, with the sequence after its rows.
func (m *merges) ended(next uint64) {
	m.mu.Lock()
	copy(m.flushed[1:], m.flushed[:])
	m.flushed[0] = next
	m.mu.Unlock()
	m.Want()
}

// purged says that a device is deleted. The caller holds mu.
func (m *merges) purged(tenant, device uint32) {
	if m.current != nil && m.current.tenant.number == tenant {
		m.current.purged = append(m.current.purged, device)
	}
}

// expired says that the days of a tenant before one are deleted. The caller holds mu.
func (m *merges) expired(tenant, before uint32) {
	if m.current != nil && m.current.tenant.number == tenant && m.current.day < before {
		m.current.stale = true
	}
}

// Start starts merging in the background.
func (l *Log) Start() {
	l.merges.Job.Start(func() {
		if err := l.Merge(); err != nil && l.Pacing.Stopping.Err() == nil {
			l.Log.Error("blocks were not merged; all of them are there", "error", err)
		}
	})
	l.merges.Want()
}

// Stop waits until the merge that was asked for has ended.
func (l *Log) Stop() { l.merges.Stop() }

// Merge merges until nothing is due.
func (l *Log) Merge() error {
	for more := true; more && l.Pacing.Stopping.Err() == nil && l.Check() == nil; {
		var err error
		if more, err = l.mergeNext(); err != nil {
			return err
		}
	}
	return nil
}

// MergeAllDays has merges take all days for quiet, and merge as few as two runs. It is for tests.
func (l *Log) MergeAllDays() {
	l.merges.mu.Lock()
	defer l.merges.mu.Unlock()
	for i := range l.merges.flushed {
		l.merges.flushed[i] = l.merges.flushed[0]
	}
	l.merges.quiet = 2
}

// DropDay has readers skip the runs of a day, as after a merge, and keeps them from being excised
// until excise is called. It is for tests.
func (l *Log) DropDay(t *Tenant, day uint32) (excise func()) {
	l.merges.running.Lock()
	l.merges.mu.Lock()
	defer l.merges.mu.Unlock()
	list := *t.Runs.Load()
	l.merges.drop(t.number, day, list.On(day)...)
	list = list.with(day, nil)
	t.Runs.Store(&list)
	return l.merges.running.Unlock
}

// due returns which of the runs of a day are to be merged: neighbours of one level.
func (m *merges) due(runs []layout.Run) []layout.Run {
	for len(runs) > 0 && runs[len(runs)-1].Sequence > m.flushed[0] {
		runs = runs[:len(runs)-1]
	}
	rest := m.isQuiet(runs)
	for to := len(runs); to > 0; {
		from, level := to-1, runs[to-1].Level
		for from > 0 && runs[from-1].Level == level && to-from < mostRuns {
			from--
		}
		if n := to - from; n >= MergeRuns || rest && level == 0 && n >= m.quiet {
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
func (l *Log) mergeNext() (more bool, err error) {
	l.merges.running.Lock()
	defer l.merges.running.Unlock()
	if err := l.Excise(); err != nil {
		return false, err
	}
	m := l.nextMerge()
	if m == nil {
		return false, nil
	}
	defer m.close()
	err = m.merge()
	l.merges.mu.Lock()
	l.merges.current = nil
	if err != nil {
		// Until it has another run.
		delete(l.merges.candidates, engine.TenantDay{Tenant: m.tenant.number, Day: m.day})
	}
	l.merges.mu.Unlock()
	if err != nil {
		return false, errors.Join(fmt.Errorf("merge blocks: %w", err), l.RemoveTables(mergeTables))
	}
	return true, nil
}

// nextMerge returns the merge of a day that is due, nil if there is none.
func (l *Log) nextMerge() *merger {
	tenants := map[uint32]*Tenant{}
	for _, t := range l.Tenants() {
		tenants[t.number] = t
	}
	l.merges.mu.Lock()
	defer l.merges.mu.Unlock()
	for of := range l.merges.candidates {
		t := tenants[of.Tenant]
		if t == nil {
			delete(l.merges.candidates, of)
			continue
		}
		runs := t.Runs.Load().On(of.Day)
		if some := l.merges.due(runs); some != nil {
			return l.newMerge(t, of.Day, some)
		}
		if len(runs) == 0 || l.merges.isQuiet(runs) {
			delete(l.merges.candidates, of) // nothing will be due, until it has another run
		}
	}
	return nil
}

// merger makes one run of several.
type merger struct {
	log    *Log
	tenant *Tenant
	day    uint32
	from   []layout.Run
	into   layout.Run
	purged []uint32 // devices that were purged since it began
	stale  bool     // what it reads is deleted since it began
	inputs []*input
	opened error // of their opening
	out    Tables
	pace   engine.Pace
	blocks int    // that were read
	again  uint64 // entries that were left out: a later delivery of them wins
	joined joiner
	key    layout.Key
}

// newMerge begins a merge. The caller holds merges.mu: what its iterators see is what the runs say
// that they have.
func (l *Log) newMerge(t *Tenant, day uint32, of []layout.Run) *merger {
	m := &merger{
		log: l, tenant: t, day: day, from: of, key: layout.NewKey(0, 0),
	}
	last := of[len(of)-1]
	m.into = layout.Run{
		RunID: layout.RunID{Sequence: last.Sequence, Level: last.Level + 1}, Oldest: last.Oldest,
		Newest: last.Newest,
	}
	for _, r := range of {
		m.into.Oldest, m.into.Newest = min(m.into.Oldest, r.Oldest), max(m.into.Newest, r.Newest)
	}
	// It is late when the day has as many runs again.
	m.pace = l.Pacing.Begin(func() bool {
		return len(t.Runs.Load().On(day)) >= len(of)+2*MergeRuns
	})
	m.out = Tables{Env: l.Env, name: mergeTables, pace: &m.pace}
	m.out.instead = runSpan(t.number, day, m.into.RunID, m.into.RunID)
	m.opened = m.open()
	l.merges.current = m
	return m
}

// input reads the blocks of a run.
type input struct {
	it *engine.Iterator
	of layout.Run
	layout.BlockKey
	left    bool   // it is at a block
	entries uint64 // of the blocks that were read
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
	if m.log.Hooks.Written != nil {
		m.log.Hooks.Written()
	}
	return m.commit()
}

// count compares what was read with what the runs say that they have, and with what was written.
func (m *merger) count() error {
	read := uint64(0)
	for _, in := range m.inputs {
		if err := in.of.CheckCount(in.entries); err != nil {
			return err
		}
		read += in.entries
	}
	if read != m.into.Entries+m.again {
		return fmt.Errorf("%d entries were read, %d written, and %d left out that came again",
			read, m.into.Entries, m.again)
	}
	return nil
}

func (m *merger) open() error {
	for _, r := range slices.Backward(m.from) { // so that entries mostly come newest first
		k := layout.NewKey(layout.TableBlock, m.tenant.number).Run(m.day, r.RunID)
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

// devices merges the blocks of all devices.
func (m *merger) devices() error {
	for {
		device, left := uint32(math.MaxUint32), 0
		for _, in := range m.inputs {
			if in.left && in.Number <= device {
				if in.Number < device {
					device, left = in.Number, 0
				}
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
func (m *merger) device(device uint32, alone bool) error {
	m.joined.begin()
	for _, in := range m.inputs {
		for in.left && in.Number == device {
			value, err := in.it.ValueAndErr()
			if err != nil {
				return fmt.Errorf("read block: %w", err)
			}
			m.blocks++
			n, ok := eventlog.BlockEntries(value)
			if !ok {
				return layout.ErrDamaged
			}
			in.entries += uint64(n)
			if alone {
				err = m.put(device, in.BlockSpan, value)
			} else {
				err = m.joined.take(value, in.BlockSpan)
			}
			if err != nil {
				return err
			}
			if err := in.read(in.it.Next()); err != nil {
				return err
			}
		}
	}
	m.pace.Did(len(m.joined.entries) * entryWork)
	again, err := m.joined.blocks(func(at layout.BlockSpan, value []byte) error {
		return m.put(device, at, value)
	})
	m.again += uint64(again)
	return err
}

// put writes a block into the new run, and counts its entries.
func (m *merger) put(device uint32, at layout.BlockSpan, value []byte) error {
	n, ok := eventlog.BlockEntries(value)
	if !ok {
		return layout.ErrDamaged
	}
	m.into.Entries += uint64(n)
	m.key = m.key.Begin(layout.TableBlock, m.tenant.number).Run(m.day, m.into.RunID).Number(device).
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
		return l.RemoveTables(mergeTables)
	}
	if err := m.take(); err != nil {
		l.merges.drop(m.tenant.number, m.day, m.into)
		return err
	}
	l.Merged.Add(int64(m.blocks))
	l.merges.drop(m.tenant.number, m.day, m.from...)
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
		blocks := layout.NewKey(layout.TableBlock, m.tenant.number).Run(m.day, m.into.RunID).
			Number(device)
		entries, err := m.log.entriesBelow(m.log.Pacing.Stopping, blocks)
		if err != nil {
			return err
		}
		m.into.Entries -= entries
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
		batch.Put(layout.RunKey(m.tenant.number, m.day, r.RunID), r.Value(m.day))
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
		blocks := runSpan(d.tenant, d.day, d.runs[0].RunID, d.runs[len(d.runs)-1].RunID)
		err := l.DB.Excise(context.Background(),
			pebble.KeyRange{Start: blocks.From, End: blocks.To})
		if err != nil {
			return fmt.Errorf("excise runs that were merged: %w", err)
		}
		b := engine.NewBatch(l.DB)
		for _, r := range d.runs {
			b.Remove(layout.RunKey(d.tenant, d.day, r.RunID))
		}
		err = b.Write(pebble.NoSync)
		b.Release()
		if err != nil {
			return fmt.Errorf("forget runs that were merged: %w", err)
		}
	}
	return nil
}

// runSpan is the keys of the blocks of neighbouring runs of a day.
func runSpan(tenant, day uint32, first, last layout.RunID) engine.Span {
	return engine.Span{
		From: layout.NewKey(layout.TableBlock, tenant).Run(day, first),
		To:   layout.NewKey(layout.TableBlock, tenant).Run(day, last).End(),
	}
}

// joiner are the entries of a device and day, of which several may be one.
type joiner struct {
	decoder  eventlog.Decoder
	encoder  eventlog.Encoder
	entries  []delivered
	distinct []eventlog.Entry
	texts    []byte
	value    []byte
}

// delivered is an entry, and the sequence of the run that it was in.
type delivered struct {
	eventlog.Entry
	sequence uint64
}

func (d *joiner) begin() { d.entries, d.texts = d.entries[:0], d.texts[:0] }

// take decodes a block. Its texts are copied, because the decoder reuses their memory.
func (d *joiner) take(value []byte, at layout.BlockSpan) error {
	all, err := d.decoder.Entries(value, at.Newest)
	if err != nil {
		return layout.ErrDamaged
	}
	for _, e := range all {
		e.Message, e.Attributes = d.keep(e.Message), d.keep(e.Attributes)
		d.entries = append(d.entries, delivered{e, at.Sequence})
	}
	return nil
}

func (d *joiner) keep(text []byte) []byte {
	from := len(d.texts)
	d.texts = append(d.texts, text...)
	return d.texts[from:len(d.texts):len(d.texts)]
}

// blocks makes as few blocks of the entries as they fit into, of each the delivery that wins. It
// returns how many others it left out.
func (d *joiner) blocks(put func(at layout.BlockSpan, value []byte) error) (again int,
	err error) {
	rest := d.winners()
	again = len(d.entries) - len(rest)
	for len(rest) > 0 {
		n := eventlog.BlockOf(rest)
		d.value = d.encoder.Append(d.value[:0], rest[:n])
		at := layout.BlockSpan{Newest: rest[0].Time, Oldest: rest[n-1].Time}
		if err := put(at, d.value); err != nil {
			return again, err
		}
		rest = rest[n:]
	}
	return again, nil
}

// winners returns the entries, newest first, of each the delivery that wins.
func (d *joiner) winners() []eventlog.Entry {
	order := func(a, b delivered) int {
		return cmp.Or(
			eventlog.CompareEntries(a.Entry, b.Entry), cmp.Compare(b.sequence, a.sequence))
	}
	if !slices.IsSortedFunc(d.entries, order) {
		slices.SortFunc(d.entries, order)
	}
	d.distinct = d.distinct[:0]
	for i := range d.entries {
		if i == 0 || eventlog.CompareEntries(d.entries[i-1].Entry, d.entries[i].Entry) != 0 {
			d.distinct = append(d.distinct, d.entries[i].Entry)
		}
	}
	return d.distinct
}
