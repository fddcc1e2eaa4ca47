package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
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
	marker marker
	// running guards marker. It is held by a round, and by who must not come between: what a purge
	// deletes, a round that had read it before would write again.
	running sync.Mutex
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
	if c.grown.Add(int64(bytes)) >= checkpointBytes || s.heads.full() {
		c.Want()
	}
}

// checkpoint is a round: all that is in rows now is settled in blocks and the checkpoint.
func (s *Store) checkpoint() error {
	s.checkpoints.running.Lock()
	defer s.checkpoints.running.Unlock()
	return s.round(context.Background(), false)
}

// round is checkpoint for a caller that holds checkpoints.running. It writes the devices if it is
// to, or if they are due. Where it is broken off, the next round does all of it again.
func (s *Store) round(ctx context.Context, devices bool) error {
	err := s.ordered(ctx, func() error {
		s.heads.freeze(s.order.next, s.checkpoints.grown.Load())
		return nil
	})
	if err != nil {
		return err
	}
	// Behind this the rows before are on the disk, and so may be in blocks, and be published.
	if err := s.sync(); err != nil {
		return err
	}
	s.publishBefore(s.heads.behind)
	rows, tenants := s.heads.rows, s.everyTenant()
	next, lag := marker{s.checkpoints.marker.shown, s.heads.behind}, s.checkpoints.lag.Load()+rows
	if devices || s.due(lag, tenants) {
		next.shown, lag = next.settled, 0
	}
	if err := s.settle(ctx, tenants, lag == 0); err != nil {
		s.unwritten(tenants)
		return err
	}
	if err := s.settled(next, rows); err != nil {
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
func (s *Store) settled(next marker, rows int64) error {
	b := s.newBatch()
	defer b.Release()
	deleted, done := s.arrivals.Flush(b, next.settled, next.shown, rows)
	next.put(b)
	if err := b.Write(pebble.Sync); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	done()
	s.checkpoints.marker = next
	s.merges.ended(next.settled)
	s.rounds.entries.Add(int64(s.heads.frozen.Entries()))
	s.heads.drop()
	s.checkpoints.grown.Add(-rows)
	return s.forgetRows(deleted)
}

// forgetRows has the engine write out its memtable if much of it is rows that are deleted now.
// Those leave it without being written once more; behind the next rows they would be written and
// compacted away. While another memtable is being written out the engine would have all writes wait
// for that: then they leave with the memtable once it is full.
func (s *Store) forgetRows(bytes int64) error {
	if bytes < int64(s.options.memTable)/4 || s.db.Metrics().MemTable.Count > 1 {
		return nil
	}
	_, err := s.db.AsyncFlush()
	return err
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

// checkpointTenant writes the devices of a tenant that were changed since they were last written.
// Where that is most of them, all are written, in place of those that are there: so the engine has
// nothing to compact.
func (s *Store) checkpointTenant(ctx context.Context, t *tenant, out *tables) error {
	if !s.mostChanged(t) {
		return s.checkpointDevices(ctx, t, out, false)
	}
	k := layout.NewKey(layout.TableCheckpoint, t.number)
	whole := tables{store: s, name: deviceTables, pace: out.pace,
		instead: engine.Span{From: k, To: k.End()}}
	if err := s.checkpointDevices(ctx, t, &whole, true); err != nil {
		return errors.Join(err, s.removeRound(deviceTables))
	}
	return whole.ingest()
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
	return changed > all/2 && changed*rowBytes >= s.options.table/little
}

// checkpointDevices writes the devices of a tenant, all or those that were changed.
func (s *Store) checkpointDevices(
	ctx context.Context, t *tenant, out *tables, all bool,
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
		if err := out.settleSome(); err != nil {
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
func (s *Store) checkpointSome(t *tenant, from uint32, out *tables, all bool) {
	k := layout.NewKey(layout.TableCheckpoint, t.number)
	var value []byte
	begun := len(out.bytes)
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
		out.add(k, value)
	}
	s.mu.RUnlock()
	out.pace.Did(len(out.bytes) - begun)
}

// unwritten has all devices and their days written again, for a round failed, and which it wrote is
// not known.
func (s *Store) unwritten(tenants []*tenant) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, t := range tenants {
		t.entered = nil
		for _, slot := range t.slots(0, t.fleet.Numbers()) {
			slot.Note = neverWritten
		}
	}
}

// neverWritten is the Note of a slot that is not in the checkpoint as it is.
const neverWritten = math.MaxUint32
