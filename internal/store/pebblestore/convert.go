package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/eventlog"
)

// A store of format 4 or older has a key for each entry, and is converted when it is opened. First,
// in one batch, the states of its devices become a checkpoint with numbers without gaps. Then its
// entries become blocks, a part at a time: a batch has the blocks of some devices and deletes what
// they were made from. So it can be broken off, and the next opening goes on. fixedConvert says how
// far it is:
//
//	convert   step 1 byte, 1 before the states and 2 behind | the next part 8 bytes
const (
	convertStates = 1 + iota
	convertLog
)

// defaultPart is how many bytes of a batch are one part.
const defaultPart = 4 << 20

// convertDevices is the first step. It comes before rebuilding.
func (s *Store) convertDevices(context.Context) error {
	step, err := s.fixed(fixedConvert)
	if err != nil || step == nil || step[0] != convertStates {
		return err
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	byNumber, all := map[uint32]*rebuilding{}, map[uint32]loose{}
	for _, t := range s.tenants {
		devices := loose{}
		all[t.number] = devices
		byNumber[t.number] = devices.rebuilding(t)
		err := s.checkpointed(t.number, 0, math.MaxUint32, func(number uint32, v []byte) error {
			var d current.Device
			err := readCheckpointed(&d, v, byNumber[t.number].names)
			devices.put(number, &d)
			return err
		})
		if err != nil {
			return err
		}
	}
	next, err := s.formerRecords(byNumber)
	if err != nil {
		return err
	}
	for tenant, devices := range all {
		if err := devices.renumber(s, batch, tenant); err != nil {
			return err
		}
	}
	if err := cmp.Or(
		batch.DeleteRange(key{formerRecord}, key{formerRecord}.end(), nil),
		batch.Set(fixedKey(fixedCheckpoint), binary.BigEndian.AppendUint64(nil, next), nil),
		batch.Set(fixedKey(fixedConvert), append([]byte{convertLog}, make([]byte, 8)...), nil),
	); err != nil {
		return err
	}
	return batch.Commit(pebble.Sync)
}

// formerRecords replays the records behind the checkpoint, and returns the next sequence.
func (s *Store) formerRecords(tenants map[uint32]*rebuilding) (next uint64, err error) {
	first, err := s.fixed(fixedCheckpoint)
	if err != nil {
		return 0, err
	}
	if len(first) == 8 {
		next = binary.BigEndian.Uint64(first)
	}
	for k, value := range s.rows(key{formerRecord}) {
		sequence := binary.BigEndian.Uint64(k)
		if sequence < next {
			continue
		}
		w := wireOf(value)
		r, received := tenants[uint32(w.Count())], w.time()
		for r != nil && len(w.Rest) > 0 && !w.Bad {
			number := uint32(w.Count())
			r.change(&w, number, received, received)
		}
		if w.Bad {
			return 0, errDamaged
		}
		next = sequence + 1
	}
	return next, nil
}

// renumber writes the devices into the checkpoint with numbers without gaps. One of which nothing
// is known but its ID was made by a write of an older program that was given up.
func (f loose) renumber(s *Store, batch *pebble.Batch, tenant uint32) error {
	prefix := newKey(tableCheckpoint, tenant)
	if err := batch.DeleteRange(prefix, prefix.end(), nil); err != nil {
		return err
	}
	known, number := map[andon.DeviceID]bool{}, uint32(0)
	put := func(d *current.Device) error {
		known[d.ID] = true
		k := newKey(tableCheckpoint, tenant).number(number)
		number++
		return batch.Set(k, appendCheckpointed(nil, d), nil)
	}
	for _, former := range slices.Sorted(maps.Keys(f)) {
		if d := f[former]; d.ID != "" && d.Known() {
			if err := put(&d); err != nil {
				return err
			}
		}
	}
	// By now each device with entries is known. If one is not, its entries must not be lost.
	for k := range s.rows(newKey(formerDay, tenant)) {
		id, _, ok := takeText(k)
		if !ok {
			return errDamaged
		}
		if d := (current.Device{ID: andon.DeviceID(id), Received: 1}); !known[d.ID] {
			if err := put(&d); err != nil {
				return err
			}
		}
	}
	return nil
}

// convertEntries is the second step. It comes behind rebuilding, which gives the numbers.
func (s *Store) convertEntries(ctx context.Context) error {
	step, err := s.fixed(fixedConvert)
	if err != nil || step == nil {
		return err
	}
	if len(step) != 9 || step[0] != convertLog {
		return errDamaged
	}
	c := conversion{
		store: s, batch: s.db.NewBatch(), settling: settling{key: newKey(0, 0)},
		part: binary.BigEndian.Uint64(step[1:]),
	}
	c.put = func(k key, value []byte) error { return c.batch.Set(k, value, nil) }
	c.list = s.listing(c.put)
	defer func() { _ = c.batch.Close() }()
	for _, t := range s.everyTenant() {
		if err := c.ofTenant(ctx, t); err != nil {
			return fmt.Errorf("convert the log of tenant %s: %w", t.record.Load().ID, err)
		}
	}
	for _, table := range []byte{formerEvent, formerDay, formerOperator} {
		if err := c.batch.DeleteRange(key{table}, key{table}.end(), nil); err != nil {
			return err
		}
		s.reclaim.spans = append(s.reclaim.spans, span{key{table}, key{table}.end()})
	}
	if err := c.batch.Delete(fixedKey(fixedConvert), nil); err != nil {
		return err
	}
	return c.batch.Commit(pebble.Sync)
}

// conversion makes blocks of the entries of former tables.
type conversion struct {
	settling
	store *Store
	batch *pebble.Batch
	part  uint64
	from  key // of what the part is made from
}

func (c *conversion) ofTenant(ctx context.Context, t *tenant) error {
	prefix := newKey(formerEvent, t.number)
	it, err := newIterator(ctx, c.store.db, prefix, prefix.end())
	if err != nil {
		return err
	}
	defer it.close()
	c.from = bytes.Clone(prefix)
	c.begin(t)
	for ok := it.First(); ok; {
		day, rest, whole := takeNumber(it.Key()[len(prefix):])
		id, _, named := takeText(rest)
		if !whole || !named {
			return errDamaged
		}
		if ok, err = c.device(it, andon.DeviceID(id), day); err != nil {
			return err
		}
		if c.batch.Len() >= c.store.options.part {
			behind := newKey(formerEvent, t.number).number(day).text(id).end()
			if err := cmp.Or(c.commit(behind, day), ctx.Err()); err != nil {
				return err
			}
		}
	}
	if err := it.Error(); err != nil {
		return err
	}
	return c.commit(prefix.end(), 0)
}

// device reads the entries of a device and day, which the iterator is at, and writes their blocks
// and escalations.
func (c *conversion) device(
	it *iterator, id andon.DeviceID, day uint32,
) (more bool, err error) {
	prefix := newKey(formerEvent, c.tenant.number).number(day).text(string(id))
	slot := c.tenant.fleet.Slot(id)
	if slot == nil {
		return false, errDamaged // convertDevices has made one
	}
	c.entries = c.entries[:0]
	for more = true; more && bytes.HasPrefix(it.Key(), prefix); more = it.Next() {
		state, at, escalated, ok := splitState(it.Key()[len(prefix):])
		value, err := it.ValueAndErr()
		if err == nil && !ok {
			err = errDamaged
		}
		if err == nil && escalated != 0 {
			to := it.Key()[len(prefix)+len(state)+1+2*timeBytes:]
			k := newKey(tableEscalation, c.tenant.number).
				escalated(id, at, andon.State(state)).invertedTime(escalated)
			err = c.batch.Set(append(k, to...), value, nil)
		} else if err == nil {
			err = c.entry(slot.Number(), at, andon.State(state), value)
		}
		if err != nil {
			return false, err
		}
	}
	if err := it.Error(); err != nil {
		return false, err // these are not all
	}
	slices.SortFunc(c.entries, compareEntries)
	if len(c.entries) == 0 {
		return more, nil
	}
	return more, c.blocksOf(slot.Number(), day, c.entries)
}

func (c *conversion) entry(
	device uint32, at andon.Time, state andon.State, value []byte,
) error {
	var e andon.Event
	if err := readEvent(&e, value); err != nil {
		return err
	}
	c.entries = append(c.entries, eventlog.Entry{
		Time: at, State: state, Operator: e.Operator,
		Message: []byte(e.Message), Attributes: []byte(e.Attributes),
	})
	c.note(device, c.entries[len(c.entries)-1:])
	return nil
}

// commit ends a part: what was made of it, and what it was made from.
func (c *conversion) commit(behind key, day uint32) error {
	// Behind all sequences of rounds, so that no round writes a posting in its place.
	c.sequence = 1<<(8*sequenceBytes-1) | c.part
	if err := c.postings(c.tenant.number); err != nil {
		return err
	}
	c.sequence = 0 // every later delivery counts before those of blocks
	c.part++
	step := binary.BigEndian.AppendUint64([]byte{convertLog}, c.part)
	if err := cmp.Or(
		c.batch.DeleteRange(c.from, behind, nil),
		c.batch.Set(fixedKey(fixedConvert), step, nil),
		c.batch.Commit(pebble.NoSync),
	); err != nil {
		return err
	}
	if day != 0 {
		c.store.options.Log.Info("the store is converted to a new format",
			"tenant", c.tenant.record.Load().ID, "day", andon.DayStart(day).String())
	}
	_ = c.batch.Close()
	c.batch, c.from = c.store.db.NewBatch(), behind
	return nil
}
