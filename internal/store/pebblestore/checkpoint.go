package pebblestore

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
)

// A checkpoint is all devices as they are shown, so that opening replays only the records since. It
// is fuzzy: it begins at a record N, is written while writing goes on, and says at its end, in the
// batch that deletes the records before N, that replaying begins at N. Its devices may hold later
// changes already; records hold whole values, so replaying those again changes nothing.

// Records are gathered into a checkpoint when they have grown to this many bytes, or to what the
// devices take in a checkpoint, whichever is more.
const (
	checkpointBytes       = 32 << 20
	checkpointDeviceBytes = 128
)

type checkpoints struct {
	grown  atomic.Int64 // bytes of records since the last one
	enough atomic.Int64 // how many make the next one worth it
	wanted chan struct{}
	ended  sync.WaitGroup
	// running is held by a checkpoint, and by who must not come between: what a purge deletes, a
	// checkpoint that had read it before would write again.
	running sync.Mutex
}

func (c *checkpoints) start(s *Store) {
	c.wanted = make(chan struct{}, 1)
	c.ended.Go(func() {
		for range c.wanted {
			if err := s.checkpoint(); err != nil {
				s.options.Log.Error("a checkpoint was not written; records go on", "error", err)
			}
		}
	})
}

// grow counts a record that was written, and asks for a checkpoint when there are enough.
func (c *checkpoints) grow(bytes int) {
	if c.grown.Add(int64(bytes)) < c.enough.Load() {
		return
	}
	select {
	case c.wanted <- struct{}{}:
	default: // one is wanted already
	}
}

// measure says how many bytes of records are worth a checkpoint of so many devices.
func (c *checkpoints) measure(devices int) {
	c.enough.Store(max(checkpointBytes, int64(devices)*checkpointDeviceBytes))
}

// stop ends the goroutine and writes a last checkpoint.
func (c *checkpoints) stop(s *Store) error {
	close(c.wanted)
	c.ended.Wait()
	if c.grown.Load() == 0 {
		return nil
	}
	return s.checkpoint()
}

func (s *Store) checkpoint() error {
	s.checkpoints.running.Lock()
	defer s.checkpoints.running.Unlock()
	var first uint64
	err := s.ordered(context.Background(), func() error {
		first = s.order.next
		return nil
	})
	if err != nil || first == 0 {
		return err
	}
	tenants := s.everyTenant()
	held := s.checkpoints.grown.Load()
	// Behind this the records before first are on the disk, and so may be published.
	if err := s.sync(); err != nil {
		return err
	}
	s.publish(first - 1)
	devices := 0
	for _, t := range tenants {
		n, err := s.checkpointTenant(t)
		if err != nil {
			return err
		}
		devices += n
	}
	s.checkpoints.measure(devices)
	batch := s.db.NewBatch()
	defer batch.Close()
	if err := firstError(
		batch.Set(fixedKey(fixedCheckpoint), binary.BigEndian.AppendUint64(nil, first), nil),
		batch.DeleteRange(recordKey(0), recordKey(first), nil),
	); err != nil {
		return err
	}
	if err := batch.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	s.checkpoints.grown.Add(-held)
	return nil
}

func (s *Store) everyTenant() []*tenant {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]*tenant, 0, len(s.tenants))
	for _, t := range s.tenants {
		list = append(list, t)
	}
	return list
}

// checkpointTenant writes the devices of a tenant, a part at a time, without waiting for the disk:
// the end of the checkpoint does that. It returns how many there are.
func (s *Store) checkpointTenant(t *tenant) (devices int, err error) {
	const part = 2048
	for from := 0; ; from += part {
		var slots []*slot
		err := s.ordered(context.Background(), func() error {
			if !t.gone {
				slots = t.slots[min(from, len(t.slots)):min(from+part, len(t.slots))]
			}
			return nil
		})
		if err != nil || len(slots) == 0 {
			return devices, err
		}
		if err := s.checkpointSlots(t, slots); err != nil {
			return devices, err
		}
		devices += len(slots)
	}
}

func (s *Store) checkpointSlots(t *tenant, slots []*slot) error {
	batch := s.db.NewBatch()
	defer batch.Close()
	k := newKey(tableCheckpoint, t.number)
	var value []byte
	s.mu.RLock()
	for _, slot := range slots {
		if slot == nil {
			continue // it was purged
		}
		value = appendCheckpointed(value[:0], slot.Shown())
		k = k.begin(tableCheckpoint, t.number).number(slot.Note.number)
		if err := batch.Set(k, value, nil); err != nil {
			s.mu.RUnlock()
			return err
		}
	}
	s.mu.RUnlock()
	return batch.Commit(pebble.NoSync)
}

// rebuild makes what is shown from the checkpoint and the records behind it.
func (s *Store) rebuild() error {
	byNumber := map[uint32]*rebuilding{}
	for _, t := range s.tenants {
		r := &rebuilding{tenant: t}
		byNumber[t.number] = r
		if err := r.checkpoint(s); err != nil {
			return err
		}
	}
	first, err := s.fixed(fixedCheckpoint)
	if err != nil {
		return err
	}
	if len(first) == 8 {
		s.order.next = binary.BigEndian.Uint64(first)
	}
	for k, value := range s.rows(key{tableRecord}) {
		sequence := binary.BigEndian.Uint64(k)
		if sequence < s.order.next {
			continue
		}
		if err := replay(byNumber, value); err != nil {
			return err
		}
		s.checkpoints.grown.Add(int64(len(value)))
		s.order.next = sequence + 1
	}
	s.line.published = s.order.next
	devices := 0
	for _, r := range byNumber {
		r.finish()
		devices += len(r.devices)
	}
	s.checkpoints.measure(devices)
	return nil
}

// rebuilding is the devices of one tenant while they are read. Numbers are given one after the
// other, so nearly always a device stands where its number says; gaps, which older programs left,
// take no room. A device without an ID was never named.
type rebuilding struct {
	tenant  *tenant
	devices []current.Device
	numbers []uint32       // of the devices
	moved   map[uint32]int // where devices stand, if not where their number says
}

func (r *rebuilding) checkpoint(s *Store) error {
	for k, value := range s.rows(newKey(tableCheckpoint, r.tenant.number)) {
		number, _, ok := takeNumber(k)
		if !ok {
			return errDamaged
		}
		d, err := readCheckpointed(value)
		if err != nil {
			return err
		}
		*r.device(number) = d
	}
	return nil
}

// device returns the device of a number, and makes it when there is none.
func (r *rebuilding) device(number uint32) *current.Device {
	if uint64(number) < uint64(len(r.numbers)) && r.numbers[number] == number {
		return &r.devices[number]
	}
	at, ok := r.moved[number]
	if !ok {
		at = len(r.devices)
		r.devices = append(r.devices, current.Device{})
		r.numbers = append(r.numbers, number)
		if uint64(at) != uint64(number) {
			if r.moved == nil {
				r.moved = map[uint32]int{}
			}
			r.moved[number] = at
		}
	}
	return &r.devices[at]
}

// replay folds a record in. One of a tenant that was deleted belongs to no one.
func replay(tenants map[uint32]*rebuilding, record []byte) error {
	w := wire{rest: record}
	r := tenants[uint32(w.count())]
	received := w.time()
	if w.bad {
		return errDamaged
	}
	if r == nil {
		return nil
	}
	for len(w.rest) > 0 {
		number := w.count()
		parts := w.byte()
		if w.bad || number >= math.MaxUint32 {
			return errDamaged
		}
		d := r.device(uint32(number))
		if parts&partNamed != 0 {
			if d.ID = andon.DeviceID(w.text()); d.ID == "" { // it was purged
				*d = current.Device{}
			}
		}
		w.parts(parts, d, received)
		d.Received = max(d.Received, received)
	}
	if w.bad {
		return errDamaged
	}
	return nil
}

// finish makes the fleet show the devices. One of which nothing is known but its ID was made by a
// write of an older program that was given up: it gets another number when it is seen.
func (r *rebuilding) finish() {
	t := r.tenant
	changes := current.NewChanges[note](len(r.devices))
	for i := range r.devices {
		d, number := &r.devices[i], r.numbers[i]
		t.nextNumber = max(t.nextNumber, number+1)
		if d.ID == "" || !d.Known() {
			continue
		}
		if state, ok := t.seen()[d.State]; ok {
			d.State = state // one string for all devices
		}
		slot := t.fleet.NewSlot(d.ID)
		slot.Note.number = number
		t.slots = append(t.slots, slot)
		*changes.Copy(slot, d.ID) = *d
	}
	changes.Stage()
	t.fleet.Show(changes)
}
