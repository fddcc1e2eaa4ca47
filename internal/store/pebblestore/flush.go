package pebblestore

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/checkpoint"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
)

// checkpointBytes is how many bytes of rows are a reason for a flush, if the memtable is not full
// earlier.
const checkpointBytes = 64 << 20

type checkpoints struct {
	engine.Job
	grown atomic.Int64 // bytes of rows since the last flush, as they are unpacked
	// lag is how many bytes of rows were flushed since the devices were written last.
	lag    atomic.Int64
	marker checkpoint.Marker // guarded by Store.log: it changes in a flush
}

func (c *checkpoints) start(s *Store) {
	c.Job.Start(func() {
		begun := engine.SinceStart()
		err := s.flushDue()
		s.flushes.took.Add(int64(engine.SinceStart() - begun))
		if err != nil {
			s.flushes.failed.Add(1)
			s.options.Log.Error("entries were not flushed to blocks; they stay in rows",
				"error", err)
			return
		}
		s.flushes.done.Add(1)
	})
}

// grow counts rows that were written, and asks for a flush when there are enough.
func (c *checkpoints) grow(s *Store, bytes int) {
	if c.grown.Add(int64(bytes)) >= checkpointBytes || s.log.Memory.Full() {
		c.Want()
	}
}

// flushDue flushes what is in rows now to blocks, and writes the checkpoint if it is due.
func (s *Store) flushDue() error {
	return s.log.Flush(func(f entries.Flush) error {
		return s.flush(context.Background(), f, false)
	})
}

// flush is one flush. It writes the devices if that is wanted, or due. Where it is interrupted, the
// next flush does all of it again.
func (s *Store) flush(ctx context.Context, f entries.Flush, devices bool) error {
	err := s.ordered(ctx, func() error {
		f.Freeze(s.pipe.Next, s.checkpoints.grown.Load())
		return nil
	})
	if err != nil {
		return err
	}
	// After this the rows before are on the disk, and so may be in blocks, and be published.
	if err := s.sync(); err != nil {
		return err
	}
	end, rows := f.Frozen()
	s.pipe.Publish(end)
	tenants, fleets := s.entryTenants(), s.everyFleet()
	next, lag := checkpoint.Marker{Shown: s.checkpoints.marker.Shown, Flushed: end},
		s.checkpoints.lag.Load()+rows
	if devices || s.devices.Due(lag, fleets) {
		next.Shown, lag = next.Flushed, 0
	}
	var also func(out *blocks.Tables) error
	if lag == 0 {
		also = func(out *blocks.Tables) error { return s.devices.Write(ctx, fleets, out) }
	}
	if err := f.Write(ctx, tenants, also); err != nil {
		s.devices.Forget(fleets)
		return err
	}
	if err := s.endFlush(f, next, rows); err != nil {
		return err
	}
	s.checkpoints.lag.Store(lag)
	return nil
}

// endFlush ends a flush of so many bytes of rows.
func (s *Store) endFlush(f entries.Flush, next checkpoint.Marker, rows int64) error {
	b := engine.NewBatch(s.db)
	defer b.Release()
	deleted, done := s.arrivals.Flush(b, next.Flushed, next.Shown, rows)
	next.Put(b)
	if err := b.Write(pebble.Sync); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	done()
	s.checkpoints.marker = next
	s.flushes.entries.Add(int64(f.End()))
	s.checkpoints.grown.Add(-rows)
	return s.env.ForgetRows(deleted)
}

func (s *Store) everyFleet() checkpoint.Fleets {
	fleets := checkpoint.Fleets{}
	for _, t := range s.everyTenant() {
		fleets[t.number] = t.fleet
	}
	return fleets
}

func (s *Store) entryTenants() []*blocks.Tenant {
	return ofTenants(s, func(t *tenant) *blocks.Tenant { return t.entries })
}

func (s *Store) readingTenants() []*blocks.Tenant {
	return ofTenants(s, func(t *tenant) *blocks.Tenant { return t.readings })
}

// rebuild makes what is shown from the checkpoint and the rows since, and concurrently the memtable
// from the rows whose entries are in no block. It also reads which runs there are.
func (s *Store) rebuild(context.Context) error {
	m, err := checkpoint.ReadMarker(s.db)
	if err != nil {
		return err
	}
	c := &s.checkpoints
	c.marker = m
	next, fleets := m.Flushed, s.everyFleet()
	err = engine.Together(func() error { return s.log.Open(m.Flushed) }, func() error {
		first, last, err := checkpoint.Fill(s.db, m, fleets, s.log.Memory.Loading(),
			func(sequence uint64, bytes int) {
				c.grown.Add(int64(bytes))
				next = sequence + 1
			})
		s.arrivals.Arrived(first)
		s.arrivals.Arrived(last)
		return err
	}, func() error {
		err := checkpoint.Load(s.db, m, fleets, func(sequence uint64, bytes int) {
			if sequence < m.Flushed {
				c.lag.Add(int64(bytes))
			}
		})
		for _, t := range s.tenants {
			if err == nil {
				err = s.reserveNumbers(t)
			}
		}
		return err
	})
	s.pipe.Open(next)
	return err
}
