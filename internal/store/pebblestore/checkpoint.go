package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
	"github.com/andonhq/andon/internal/store/pebblestore/index"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// A checkpoint is all devices as they are shown, so that opening replays only the rows since. It is
// written in rounds, with the blocks of the entries in those rows, but not in each: see due. It is
// fuzzy: it begins at a sequence N, is written while writing goes on, and says at its end, in the
// batch that deletes the rows before N, that replaying begins at N. Its devices may hold later
// changes already; rows hold whole values, so replaying those again changes nothing.

// checkpointBytes is how many bytes of rows make a round worth it, if the head is not full earlier.
const checkpointBytes = 64 << 20

type checkpoints struct {
	engine.Job
	grown atomic.Int64 // bytes of rows since the last round, as they are unpacked
	// lag is how many bytes of rows rounds have settled since the last that wrote the devices.
	lag    atomic.Int64
	marker marker // guarded by Store.log: it changes in a flush
}

func (c *checkpoints) start(s *Store) {
	c.Job.Start(func() {
		begun := engine.SinceStart()
		err := s.checkpoint()
		s.rounds.took.Add(int64(engine.SinceStart() - begun))
		if err != nil {
			s.rounds.failed.Add(1)
			s.options.Log.Error("entries were not settled in blocks; they stay in rows",
				"error", err)
			return
		}
		s.rounds.done.Add(1)
	})
}

// grow counts rows that were written, and asks for a round when there are enough.
func (c *checkpoints) grow(s *Store, bytes int) {
	if c.grown.Add(int64(bytes)) >= checkpointBytes || s.log.Memory.Full() {
		c.Want()
	}
}

// checkpoint is a round: all that is in rows now is settled in blocks and the checkpoint.
func (s *Store) checkpoint() error {
	return s.log.Flush(func(f entries.Flush) error {
		return s.round(context.Background(), f, false)
	})
}

// round is one flush. It writes the devices if it is to, or if they are due. Where it is broken
// off, the next round does all of it again.
func (s *Store) round(ctx context.Context, f entries.Flush, devices bool) error {
	err := s.ordered(ctx, func() error {
		f.Freeze(s.pipe.Next, s.checkpoints.grown.Load())
		return nil
	})
	if err != nil {
		return err
	}
	// Behind this the rows before are on the disk, and so may be in blocks, and be published.
	if err := s.sync(); err != nil {
		return err
	}
	behind, rows := f.Frozen()
	s.pipe.PublishBefore(behind)
	tenants := s.everyTenant()
	next, lag := marker{s.checkpoints.marker.shown, behind}, s.checkpoints.lag.Load()+rows
	if devices || s.due(lag, tenants) {
		next.shown, lag = next.settled, 0
	}
	var also func(out *blocks.Tables) error
	if lag == 0 {
		also = func(out *blocks.Tables) error { return s.checkpointAll(ctx, tenants, out) }
	}
	if err := f.Write(ctx, ofEntries(tenants), &index.Writer{}, also); err != nil {
		s.unwritten(tenants)
		return err
	}
	if err := s.settled(f, next, rows); err != nil {
		return err
	}
	s.checkpoints.lag.Store(lag)
	return nil
}

// A row of the checkpoint costs about what a block of one entry does, and is written again by
// compactions. Where a round has less than an entry of each device, writing all devices in each
// round would cost more than their entries. So rounds put it off until bytes of rows for each
// device have come, about two entries, or as many as opening reads in a second.
const (
	defaultLag = 128 // bytes a device
	mostLag    = 4 * checkpointBytes
)

// due reports whether a round writes the devices, too, when so many bytes of rows were settled
// since one did.
func (s *Store) due(lag int64, tenants []*tenant) bool {
	devices := int64(0)
	s.mu.RLock()
	for _, t := range tenants {
		devices += int64(t.fleet.Numbers())
	}
	s.mu.RUnlock()
	return lag >= min(devices*s.options.lag, mostLag)
}

// settled ends a round that has settled so many bytes of rows.
func (s *Store) settled(f entries.Flush, next marker, rows int64) error {
	b := s.newBatch()
	defer b.Release()
	deleted, done := s.arrivals.Flush(b, next.settled, next.shown, rows)
	next.put(b)
	if err := b.Write(pebble.Sync); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	done()
	s.checkpoints.marker = next
	s.rounds.entries.Add(int64(f.End()))
	s.checkpoints.grown.Add(-rows)
	return s.env.ForgetRows(deleted)
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

// entryTenants returns what tenants have of blocks of entries.
func (s *Store) entryTenants() []*blocks.Tenant { return ofEntries(s.everyTenant()) }

func ofEntries(tenants []*tenant) []*blocks.Tenant {
	list := make([]*blocks.Tenant, len(tenants))
	for i, t := range tenants {
		list[i] = t.entries
	}
	return list
}

// readingTenants returns what tenants have of blocks of readings.
func (s *Store) readingTenants() []*blocks.Tenant {
	tenants := s.everyTenant()
	list := make([]*blocks.Tenant, len(tenants))
	for i, t := range tenants {
		list[i] = t.readings
	}
	return list
}

// checkpointAll writes the devices of tenants.
func (s *Store) checkpointAll(ctx context.Context, tenants []*tenant, out *blocks.Tables) error {
	for _, t := range tenants {
		if err := s.checkpointTenant(ctx, t, out); err != nil {
			return err
		}
	}
	return nil
}

// checkpointTenant writes the devices of a tenant that were changed since they were last written.
// Where that is most of them, all are written, in place of those that are there: so the engine has
// nothing to compact.
func (s *Store) checkpointTenant(ctx context.Context, t *tenant, out *blocks.Tables) error {
	if !s.mostChanged(t) {
		return s.checkpointDevices(ctx, t, out, false)
	}
	k := layout.NewKey(layout.TableCheckpoint, t.number)
	whole := out.InPlaceOf(engine.Span{From: k, To: k.End()}, blocks.DeviceTables)
	if err := s.checkpointDevices(ctx, t, &whole, true); err != nil {
		return errors.Join(err, s.env.RemoveTables(blocks.DeviceTables))
	}
	return whole.Ingest()
}

// checkpointPart is how many devices are looked at in one go, so that requests are not held up.
const checkpointPart = 512

// mostChanged reports whether most devices of a tenant were changed since they were last written,
// and are more than go through the log.
func (s *Store) mostChanged(t *tenant) bool {
	const rowBytes = 64 // about
	changed, all := 0, 0
	for from := 0; from <= all; from += checkpointPart {
		s.mu.RLock()
		all = int(t.fleet.Numbers())
		for _, slot := range t.slots(uint32(from), checkpointPart) {
			if slot.Changes() != slot.Note {
				changed++
			}
		}
		s.mu.RUnlock()
	}
	return changed > all/2 && !s.env.ThroughLog(changed*rowBytes)
}

// checkpointDevices writes the devices of a tenant, all or those that were changed.
func (s *Store) checkpointDevices(
	ctx context.Context, t *tenant, out *blocks.Tables, all bool,
) error {
	for from := uint32(0); ; from += checkpointPart {
		more := false
		err := s.ordered(ctx, func() error {
			more = !t.gone && from < t.fleet.Numbers()
			return nil
		})
		if err != nil || !more {
			return err
		}
		s.checkpointSome(t, from, out, all)
		if err := out.Spill(); err != nil {
			return err
		}
	}
}

// slots returns the places of up to so many numbers from one on. The caller has Store.mu, or no
// place is made or given back meanwhile.
func (t *tenant) slots(from, most uint32) []*slot {
	behind := min(from+most, t.fleet.Numbers())
	some := make([]*slot, 0, behind-min(from, behind))
	for number := from; number < behind; number++ {
		if slot := t.fleet.At(number); slot != nil { // else it was purged
			some = append(some, slot)
		}
	}
	return some
}

// checkpointSome writes a part of the devices, by number from one on. What is shown of them is on
// the disk already, in rows.
func (s *Store) checkpointSome(t *tenant, from uint32, out *blocks.Tables, all bool) {
	k := layout.NewKey(layout.TableCheckpoint, t.number)
	var value []byte
	begun := out.Pending()
	s.mu.RLock()
	for _, slot := range t.slots(from, checkpointPart) {
		if !all && slot.Changes() == slot.Note {
			continue // it is there
		}
		// In this order: a change that is pending is not shown, and makes the device due again.
		if changes := slot.Changes(); !slot.Pending() {
			slot.Note = changes
		}
		shown := t.fleet.Shown(slot)
		value = layout.AppendCheckpoint(value[:0], &shown)
		k = k.Begin(layout.TableCheckpoint, t.number).Number(slot.Number())
		out.Add(k, value)
	}
	s.mu.RUnlock()
	out.Did(out.Pending() - begun)
}

// unwritten has all devices written again: a flush failed, and which it wrote is not known.
func (s *Store) unwritten(tenants []*tenant) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, t := range tenants {
		for _, slot := range t.slots(0, t.fleet.Numbers()) {
			slot.Note = neverWritten
		}
	}
}

// neverWritten is the Note of a slot that is not in the checkpoint as it is.
const neverWritten = math.MaxUint32
