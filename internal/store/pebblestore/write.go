package pebblestore

import (
	"context"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
)

// writing is one request on its way into the log. As much as possible is computed beside other
// writes: its rows are encoded, its devices are copied with their pending changes and folded, and
// the changes are encoded. In the ordered section only those devices are folded again that another
// write has changed meanwhile. Before stage, nothing outside the write is changed, so a write that
// is given up leaves nothing behind.
type writing struct {
	encoder
	store    *Store
	ctx      context.Context
	tenant   *tenant
	states   *andon.StateSet
	received andon.Time // 0 where the write is no message
	frees    bool       // it leads to space being freed, so it may go into the reserve
	alone    bool       // it holds tenant.writes alone

	changes *changes
	folded  []folded // what came of each of the changes
	encoded []byte   // the changes, as records have them
	feed    []byte   // what they change of what devices show
	// fold works out one device. It may be called more than once, each time with a new copy.
	fold func(i int, d *current.Device) error
	// rows puts those rows into the batch that depend on how the devices were folded.
	rows func() error
	// ordered takes note of what is not in the devices, just before their changes are pending.
	ordered func()
	kind    andon.ChangeKind // of what it changes of what devices show

	newStates map[andon.State]andon.State
	overtaken []int            // devices that were changed meanwhile
	indexRows map[uint64]bool  // rows that will be remembered as written
	past      *history         // of the device that is being folded
	operators []andon.PersonID // of the events that are being folded
}

// encoder puts rows into a batch. Its key and value are room for the next one.
type encoder struct {
	batch *pebble.Batch
	key   key
	value []byte
}

// folded is what came of one device beyond what it shows.
type folded struct {
	encoded [2]int // its part of writing.encoded
	feed    [2]int // and of writing.feed, empty where nothing is to be seen of it
	entry   andon.EntryRef
	entries int // that were folded
	looks   int // into the store
	aside   []current.Escalation
	emptied bool // of the escalations that were set aside none is wanted any more

	day      uint32 // to remember of it
	operator uint64
}

// newWrite begins a write to a tenant that changes at most so many devices and has about so many
// bytes of rows. The caller closes it.
func (s *Store) newWrite(
	ctx context.Context, t *tenant, received andon.Time, devices, bytes int,
) (*writing, error) {
	if err := t.writes.RLock(ctx); err != nil {
		return nil, err
	}
	return s.beginWrite(ctx, t, received, devices, bytes), nil
}

// deviceBytes is about what a device takes in a record.
const deviceBytes = 24

// beginWrite is newWrite for who holds tenant.writes.
func (s *Store) beginWrite(
	ctx context.Context, t *tenant, received andon.Time, devices, bytes int,
) *writing {
	w := &writing{
		store: s, ctx: ctx, tenant: t, states: t.states(), received: received,
		encoder: encoder{batch: s.db.NewBatchWithSize(bytes), key: newKey(0, 0)},
		changes: current.NewChanges[note](devices),
		folded:  make([]folded, 0, devices),
		encoded: make([]byte, 0, devices*deviceBytes),
	}
	w.past = &history{write: w}
	return w
}

func (w *writing) close() {
	w.past.close()
	_ = w.batch.Close()
	if !w.alone {
		w.tenant.writes.RUnlock()
	}
}

// add copies devices, each named once, those that have no place too.
func (w *writing) add(ids []andon.DeviceID) {
	const step = 1024 // devices in one go, so that what is shown is not held up
	for part := range slices.Chunk(ids, step) {
		w.store.mu.RLock()
		for _, id := range part {
			w.changes.Copy(w.tenant.fleet.Slot(id), id)
		}
		w.store.mu.RUnlock()
	}
}

// foldAll folds the devices that were added. All of them are copied before the first look into the
// log, so that the log is never behind a copy.
func (w *writing) foldAll() error {
	for i := range w.changes.Len() {
		if err := w.ctx.Err(); err != nil {
			return err
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
	if slot != nil {
		f.day, f.operator = slot.Note.day.Load(), slot.Note.operator.Load()
	}
	w.past.begin(d, f)
	if err := w.fold(i, d); err != nil {
		return err
	}
	d.Received = max(d.Received, w.received)
	f.emptied = was.AsideAt != 0 && (d.AsideAt == 0 || w.past.anew)
	w.encode(f, slot == nil, &was, d)
	return nil
}

// encode encodes how a device changed, for the record and for the feed.
func (w *writing) encode(f *folded, named bool, was, is *current.Device) {
	if w.kind == andon.ByPurge {
		named, is = true, &current.Device{}
	}
	parts := changedParts(was, is)
	f.encoded[0], f.feed[0] = len(w.encoded), len(w.feed)
	w.encoded = appendChange(w.encoded, parts, named, is, w.received)
	if parts&^partNewest != 0 { // else the state repeats
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
		} else if !all && !w.changes.Old(i) {
			continue
		}
		numbers = append(numbers, i)
	}
	return numbers
}

// cost says how much it is to fold devices again, about in microseconds.
func (w *writing) cost(numbers []int) (cost int) {
	const look = 32
	for _, i := range numbers {
		cost += 1 + w.folded[i].entries + look*w.folded[i].looks
	}
	return cost
}

// refold folds devices again. Either it is done in the ordered section, or what is shown is kept
// from changing by copying.
func (w *writing) refold(numbers []int, copying sync.Locker) error {
	w.states = w.tenant.states()
	w.past.close() // it is as old as the copies
	copying.Lock()
	for _, i := range numbers {
		id := w.changes.Device(i).ID
		slot := w.tenant.fleet.Slot(id)
		w.changes.Place(i, slot)
		if slot != nil {
			w.changes.CopyAgain(i)
		} else {
			*w.changes.Device(i) = current.Device{ID: id}
		}
	}
	copying.Unlock()
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
			slot := t.fleet.NewSlot(w.changes.Device(i).ID)
			slot.Note.number = t.nextNumber
			t.nextNumber++
			t.slots = append(t.slots, slot)
			w.changes.Place(i, slot)
		}
		w.store.mu.Unlock()
	}
	t.sawStates(w.newStates)
}

// recorded is a record and what it changes of what devices show.
type recorded struct{ record, feed []byte }

// records puts the changes together, behind the numbers of their devices. A record that has grown
// large is followed by another one: as one value it would fill a block that is too large for
// Pebble's cache, and every seek that met it would read it again.
func (w *writing) records() []recorded {
	const large = 16 << 10
	first := recorded{
		slices.Grow(newRecord(w.tenant.number, w.received), min(len(w.encoded), large)),
		make([]byte, 0, min(len(w.feed), large)),
	}
	records := []recorded{first}
	for i := range w.folded {
		last := &records[len(records)-1]
		if len(last.record)+len(last.feed) > large {
			records = append(records, recorded{record: newRecord(w.tenant.number, w.received)})
			last = &records[len(records)-1]
		}
		f := &w.folded[i]
		number := w.changes.Slot(i).Note.number
		last.record = appendNumbered(last.record, number, w.encoded[f.encoded[0]:f.encoded[1]])
		last.feed = append(last.feed, w.feed[f.feed[0]:f.feed[1]]...)
	}
	return records
}

// setRecord puts a record into the batch.
func (w *writing) setRecord(sequence uint64, r recorded) error {
	err := w.batch.Set(recordKey(sequence), r.record, nil)
	if err == nil && len(r.feed) > 0 {
		err = w.batch.Set(changeKey(w.tenant.number, sequence), r.feed, nil)
	}
	return err
}

// remember notes what need not be written again, now that it is on the disk.
func (w *writing) remember() {
	w.store.written.Add(w.indexRows)
	for i := range w.folded {
		n := &w.changes.Slot(i).Note
		n.day.Store(w.folded[i].day)
		n.operator.Store(w.folded[i].operator)
	}
}

// writtenRows is how many rows are remembered: index rows, and days of directories.
const writtenRows = 1 << 20 // 8 MiB

// once writes the row of w.key, which has no value, unless it was written before.
func (w *writing) once() error {
	sum := w.store.written.Sum(w.key)
	if w.store.written.Holds(sum) || w.indexRows[sum] {
		return nil
	}
	if w.indexRows == nil {
		w.indexRows = map[uint64]bool{}
	}
	w.indexRows[sum] = true
	return w.batch.Set(w.key, nil, nil)
}
