package pebblestore

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// writing is one request on its way into the log. It goes through these phases:
//
//  1. Computed, concurrently with other writes (foldAll): its devices are copied with their pending
//     changes and folded, and its entries and changes are encoded.
//  2. Admitted, in the ordered section (admit): only those devices are folded again that another
//     write has changed meanwhile.
//  3. Staged, in the ordered section (stage): its rows get their sequences, it goes into the log
//     and becomes pending.
//  4. On the disk, after the ordered section: it is published, and acknowledged.
//
// Before it is staged, nothing outside the write is changed, so a write that is given up leaves
// nothing.
type writing struct {
	store    *Store
	ctx      context.Context
	tenant   *tenant
	states   *andon.StateSet
	received andon.Time // 0 where the write is no message

	steps // what it does
	// Phase 1.
	changes   *current.Changes
	folded    []folded                    // what came of each of the changes
	past      history                     // of the device that is being folded
	newStates map[andon.State]andon.State // of an Append, as the next two
	lastState andon.State                 // one that has entries
	operators []andon.PersonID            // of the events that are being folded
	overtaken []int                       // phase 2: devices that others have changed meanwhile

	batch      engine.Batch
	key        layout.Key // keys and values of the batch are built in the same memory
	value      []byte
	rowEncoder // phases 1 and 3
}

// rowEncoder encodes what goes into rows, before their sequence and the numbers of new devices are
// known.
type rowEncoder struct {
	names    eventlog.Names // of the entries
	encoded  []byte         // the entries and the changes, as rows have them
	base     andon.Time     // the time of the last entry that was encoded
	feed     []byte         // what they change of what devices show
	row      []byte         // the row that is being put together
	changed  []byte         // and its part of the feed
	recorded int            // bytes of the rows

	indexRows map[uint64]bool // rows that will be remembered as written
}

// steps are what makes one kind of write different from another.
type steps struct {
	// fold computes one device. It may be called more than once, each time with a new copy.
	fold func(i int, d *current.Device) error
	// rows puts those rows into the batch that depend on how the devices were folded.
	rows func()
	// ordered notes what is not in the devices, just before their changes are pending.
	ordered func()
	kind    andon.ChangeKind // of what it changes of what devices show
	frees   bool             // it leads to space being freed, so it may go into the reserve
	alone   bool             // it holds tenant.writes alone
}

// folded is what came of one device beyond what it shows.
type folded struct {
	encoded [2]int // its part of writing.encoded
	feed    [2]int // and of writing.feed, empty where nothing is to be seen of it
	entry   andon.EntryRef
	entries int // that were folded
	reads   int // of the store
}

// newWrite begins a write to a tenant that changes at most so many devices, and has about so many
// bytes of entries and other rows. The caller closes it.
func (s *Store) newWrite(
	ctx context.Context, t *tenant, received andon.Time, devices, bytes int,
) (*writing, error) {
	if err := t.writes.RLock(ctx); err != nil {
		return nil, err
	}
	return s.beginWrite(ctx, t, received, devices, bytes), nil
}

// change makes one write of a kind that changes devices, each named once. prepare says how.
func (s *Store) change(
	ctx context.Context, t *tenant, kind andon.ChangeKind, ids []andon.DeviceID, bytes int,
	prepare func(w *writing),
) error {
	w, err := s.newWrite(ctx, t, 0, len(ids), bytes)
	if err != nil {
		return err
	}
	defer w.close()
	w.kind = kind
	prepare(w)
	return w.run(ids)
}

// run works out the devices, each named once, and commits the write.
func (w *writing) run(ids []andon.DeviceID) error {
	w.add(ids)
	if err := w.foldAll(); err != nil {
		return err
	}
	return w.store.commit(w)
}

// deviceBytes is about what a device takes in a record.
const deviceBytes = 24

// beginWrite is newWrite for a caller that holds tenant.writes.
func (s *Store) beginWrite(
	ctx context.Context, t *tenant, received andon.Time, devices, bytes int,
) *writing {
	w := &writing{
		store: s, ctx: ctx, tenant: t, states: t.states(), received: received,
		changes: current.NewChanges(devices), folded: make([]folded, 0, devices),
	}
	w.buffers(devices*deviceBytes+bytes, devices*deviceBytes)
	w.past.write = w
	const (
		packed = 2 // bytes for each in the batch: most are packed there
		// Pebble panics where it closes an empty batch that is shorter than its header of 12 bytes.
		least = 256
	)
	w.batch.Batch = s.db.NewBatchWithSize(bytes/packed + least)
	return w
}

// buffers gives the write memory for so many bytes of entries with their devices, and of changes
// of what devices show, in one allocation. What grows in steps is copied with each, and all of it
// is garbage.
func (w *writing) buffers(entries, changes int) {
	const least = 160
	row, part := min(entries, largeRow+deviceBytes), min(changes, largeRow)
	sizes := [...]int{entries, changes / 2, row, part / 2, row, 0}
	total := 0
	for i, n := range sizes {
		sizes[i] = n + least
		total += sizes[i]
	}
	all := make([]byte, total)
	for i, b := range []*[]byte{
		&w.encoded, &w.feed, &w.row, &w.changed, &w.value, (*[]byte)(&w.key),
	} {
		*b, all = all[:0:sizes[i]], all[sizes[i]:]
	}
}

func (w *writing) close() {
	w.past.close()
	w.batch.Release()
	if !w.alone {
		w.tenant.writes.RUnlock()
	}
}

// add copies devices, each named once, those that have no place too.
func (w *writing) add(ids []andon.DeviceID) {
	const step = 1024 // devices in one go, so that what is shown is not held up
	var last *current.Slot
	for part := range slices.Chunk(ids, step) {
		w.store.mu.RLock()
		for _, id := range part {
			last = w.tenant.fleet.SlotAfter(last, id)
			w.changes.Copy(w.tenant.fleet, last, id)
		}
		w.store.mu.RUnlock()
	}
}

// foldAll folds the devices that were added. All of them are copied before the first read of the
// log, so that the log is never older than a copy.
func (w *writing) foldAll() error {
	const step = 64 // devices, so that the check costs little compared with them
	for i := range w.changes.Len() {
		if i%step == 0 {
			if err := w.ctx.Err(); err != nil {
				return err
			}
		}
		w.folded = append(w.folded, folded{})
		if err := w.foldOne(i); err != nil {
			return err
		}
	}
	return nil
}

// foldOne folds the i-th device, of which there is a copy, and encodes how it changed.
func (w *writing) foldOne(i int) error {
	d, slot := w.changes.Device(i), w.changes.Slot(i)
	was, f := *d, &w.folded[i]
	*f = folded{}
	f.encoded[0], w.base = len(w.encoded), w.received
	w.past.begin(d, f)
	if err := w.fold(i, d); err != nil {
		return err
	}
	if len(w.encoded) == f.encoded[0] {
		w.encoded = w.names.AppendEntries(w.encoded, 0, nil, nil)
	}
	d.Received = andon.Heard(d.Received, w.received)
	w.encode(f, slot == nil, &was, d)
	return nil
}

// encode encodes how a device changed, for the record and for the feed.
func (w *writing) encode(f *folded, named bool, was, is *current.Device) {
	if w.kind == andon.ByPurge {
		named, is = true, &current.Device{}
	}
	parts := layout.ChangedParts(was, is)
	f.feed[0] = len(w.feed)
	w.encoded = layout.AppendDeviceChange(w.encoded, parts, named, is, w.base)
	if parts&^layout.PartNewest != 0 { // else the state repeats
		w.change(f, was, is)
	}
	f.encoded[1], f.feed[1] = len(w.encoded), len(w.feed)
}

// old returns those devices that another write has changed, or made, since they were copied. It
// belongs to the ordered section.
func (w *writing) old() (numbers []int) {
	all := w.states != w.tenant.states()
	for i := range w.changes.Len() {
		slot := w.changes.Slot(i)
		if slot == nil {
			slot = w.tenant.fleet.Slot(w.changes.Device(i).ID)
			if slot == nil && !all {
				continue
			}
		} else if !all && !w.changes.Stale(i) {
			continue
		}
		numbers = append(numbers, i)
	}
	return numbers
}

// cost says how much it is to fold devices again, about in microseconds.
func (w *writing) cost(numbers []int) (cost int) {
	const read = 32
	for _, i := range numbers {
		cost += 1 + w.folded[i].entries + read*w.folded[i].reads
	}
	return cost
}

// refold folds devices again. While it copies, nothing is published.
func (w *writing) refold(numbers []int) error {
	w.states = w.tenant.states()
	w.past.close() // it is as old as the copies
	if len(numbers) == 0 {
		return nil
	}
	w.store.mu.RLock()
	for _, i := range numbers {
		id := w.changes.Device(i).ID
		slot := w.tenant.fleet.Slot(id)
		w.changes.Place(i, slot)
		if slot != nil {
			w.changes.CopyAgain(w.tenant.fleet, i)
		} else {
			*w.changes.Device(i) = current.Device{ID: id}
		}
	}
	w.store.mu.RUnlock()
	for _, i := range numbers {
		if err := w.foldOne(i); err != nil {
			return err
		}
	}
	return nil
}

// place gives new devices their places and numbers. The states that are new have entries from now.
func (w *writing) place() {
	const step = 1024 // devices in one go, so that readers are not held up
	t := w.tenant
	for from := 0; from < w.changes.Len(); from += step {
		w.store.mu.Lock()
		for i := from; i < min(from+step, w.changes.Len()); i++ {
			if w.changes.Slot(i) != nil {
				continue
			}
			w.changes.Place(i, t.fleet.NewSlot(w.changes.Device(i).ID))
		}
		w.store.mu.Unlock()
	}
	t.sawStates(w.newStates)
}

// largeRow is when a row is followed by another one: as one value its part of the feed would fill a
// block that is too large for Pebble's cache, and every seek that met it would read it again.
const largeRow = 16 << 10

// setRows puts the entries and changes into the batch from a sequence on, after the numbers of
// their devices. A row that has grown large is followed by another one.
func (w *writing) setRows(next uint64) (sequence uint64, p pending) {
	sequence, p = next, pending{tenant: w.tenant, changes: w.changes}
	w.beginRow()
	for i := range w.folded {
		if len(w.row)+len(w.changed) > largeRow {
			w.setRow(sequence, &p)
			sequence++
			w.beginRow()
		}
		f := &w.folded[i]
		number := w.changes.Slot(i).Number()
		w.row = binary.AppendUvarint(w.row, uint64(number))
		w.row = append(w.row, w.encoded[f.encoded[0]:f.encoded[1]]...)
		w.changed = append(w.changed, w.feed[f.feed[0]:f.feed[1]]...)
	}
	w.setRow(sequence, &p)
	return sequence, p
}

func (w *writing) beginRow() {
	w.row = layout.AppendRow(w.row[:0], w.tenant.number, w.received, &w.names)
	w.changed = w.changed[:0]
}

// setRow puts a row into the batch, and what it changes of what devices show.
func (w *writing) setRow(sequence uint64, p *pending) {
	w.recorded += len(w.row)
	w.value = layout.PackRow(w.value, w.row)
	w.key = w.key.Row(sequence)
	w.batch.Put(w.key, w.value)
	if len(w.changed) > 0 {
		p.fed = sequence + 1
		w.batch.Put(layout.ChangeKey(w.tenant.number, sequence), w.changed)
	}
}

// remember notes what need not be written again, now that it is on the disk.
func (w *writing) remember() { w.store.written.Add(w.indexRows) }

// writtenRows is how many rows are remembered: index rows, and days of directories.
const writtenRows = 1 << 20 // 8 MiB

// once writes the row of w.key, which has no value, unless it was written before.
func (w *writing) once() {
	sum := w.store.written.Sum(w.key)
	if w.store.written.Holds(sum) || w.indexRows[sum] {
		return
	}
	if w.indexRows == nil {
		w.indexRows = map[uint64]bool{}
	}
	w.indexRows[sum] = true
	w.batch.Put(w.key, nil)
}

// added is what the write brings to the memtable.
func (w *writing) added() entries.Added {
	return entries.Added{
		Tenant: w.tenant.number, Received: w.received, Names: &w.names, Devices: len(w.folded),
		Device: func(i int) (uint32, []byte) {
			f := &w.folded[i]
			return w.changes.Slot(i).Number(), w.encoded[f.encoded[0]:f.encoded[1]]
		},
	}
}
