package pebblestore

import (
	"encoding/binary"
	"fmt"
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
	s.order.Lock()
	first := s.order.next
	tenants := s.everyTenant()
	s.order.Unlock()
	if first == 0 {
		return nil
	}
	held := s.checkpoints.grown.Load()
	// Behind this the records before first are on the disk, and so may be shown.
	if err := s.db.LogData(nil, pebble.Sync); err != nil {
		return s.fatal(fmt.Errorf("write store to disk: %w", err))
	}
	s.showThrough(first - 1)
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
		s.order.Lock()
		gone, slots := t.gone, t.byNumber[min(from, len(t.byNumber)):]
		slots = slots[:min(part, len(slots))]
		s.order.Unlock()
		if gone || len(slots) == 0 {
			return devices, nil
		}
		if err := s.checkpointSlots(t, from, slots); err != nil {
			return devices, err
		}
		devices += len(slots)
	}
}

func (s *Store) checkpointSlots(t *tenant, from int, slots []*slot) error {
	batch := s.db.NewBatch()
	defer batch.Close()
	k := newKey(tableCheckpoint, t.number)
	var value []byte
	s.mu.RLock()
	for i, slot := range slots {
		if slot == nil || !slot.Shown().Known() {
			continue // nothing is known of it yet
		}
		value = appendCheckpointed(value[:0], slot.Shown())
		k = k.begin(tableCheckpoint, t.number).number(uint32(from + i))
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
	s.line.shown = s.order.next
	devices := 0
	for _, r := range byNumber {
		r.finish()
		devices += len(r.devices)
	}
	s.checkpoints.measure(devices)
	return nil
}

// rebuilding is the devices of one tenant while they are read, by number. One without an ID is a
// number that was never used.
type rebuilding struct {
	tenant  *tenant
	devices []current.Device
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
		if !r.plausible(uint64(number)) {
			return errDamaged
		}
		*r.device(number) = d
	}
	return nil
}

// plausible keeps a damaged number from asking for more memory than there is: numbers are given one
// after the other, and only a few are lost.
func (r *rebuilding) plausible(number uint64) bool { return number < uint64(len(r.devices))+1<<20 }

func (r *rebuilding) device(number uint32) *current.Device {
	if n := int(number) + 1; n > len(r.devices) {
		r.devices = append(r.devices, make([]current.Device, n-len(r.devices))...)
	}
	return &r.devices[number]
}

// replay folds a record in. One of a tenant that was deleted belongs to nobody.
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
		if w.bad || !r.plausible(number) {
			return errDamaged
		}
		d := r.device(uint32(number))
		if parts&partNamed != 0 {
			d.ID = andon.DeviceID(w.text())
		}
		w.parts(parts, d, received)
		d.Received = max(d.Received, received)
	}
	if w.bad {
		return errDamaged
	}
	return nil
}

// finish makes the fleet show the devices.
func (r *rebuilding) finish() {
	t := r.tenant
	t.byNumber = make([]*slot, len(r.devices))
	changes := current.NewChanges[note](len(r.devices))
	for number := range r.devices {
		d := &r.devices[number]
		if d.ID == "" {
			continue
		}
		if state, ok := t.seen[d.State]; ok {
			d.State = state // one string for all devices
		}
		slot := t.fleet.NewSlot(d.ID)
		slot.Note.number, slot.Note.named = uint32(number), true
		t.byNumber[number] = slot
		*changes.Copy(slot) = *d
	}
	changes.Stage()
	t.fleet.Show(changes)
}
