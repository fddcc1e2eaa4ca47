package pebblestore

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Checkpoint has a store flush entries and readings, and merge all of their runs, now.
func Checkpoint(s andon.Store) error {
	return errors.Join(s.(*Store).flushDue(), s.(*Store).flushReadings(), s.(*Store).mergeAll())
}

// DeferDevices has a store write devices in each flush, where bytes are few, or in none. Each
// second store writes all of them where most have changed, however few there are.
func DeferDevices(o *Options, bytes int64, second bool) {
	if o.lag = bytes; second {
		o.table = 1 << 8
	}
}

// Finish has a store finish, however little there is.
func Finish(ctx context.Context, s andon.Store) error {
	s.(*Store).options.unread = 1
	return s.(*Store).Finish(ctx)
}

// mergeAll merges all days.
func (s *Store) mergeAll() error { return errors.Join(s.log.MergeAll(), s.readings.MergeAll()) }

// flushReadings flushes readings.
func (s *Store) flushReadings() error { return s.readings.Flush(context.Background()) }

// rows returns the rows whose keys begin with a prefix, without that.
func (s *Store) rows(prefix layout.Key) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for it, err := range engine.Rows(context.Background(), s.db, prefix) {
			if err != nil {
				panic(err)
			}
			value, err := it.ValueAndErr()
			if err != nil {
				panic(err)
			}
			if !yield(it.Key()[len(prefix):], value) {
				return
			}
		}
	}
}

// forgetEntries has what was read before be read again.
func (s *Store) forgetEntries(t *testing.T) {
	t.Helper()
	if err := s.log.Exclusively(func(*entries.Deletion) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// freezeNow freezes what the memtable has.
func (s *Store) freezeNow() error {
	return s.log.Flush(func(f entries.Flush) error {
		f.Freeze(s.pipe.Next, s.checkpoints.grown.Load())
		return nil
	})
}

// writeBlocks does a flush up to where it would end: its blocks and devices are written, no more.
func (s *Store) writeBlocks(ctx context.Context, end bool) error {
	return s.log.Flush(func(f entries.Flush) error {
		f.Freeze(s.pipe.Next, s.checkpoints.grown.Load())
		tenants := s.entryTenants()
		err := f.Write(ctx, tenants,
			func(out *blocks.Tables) error {
				return s.devices.Write(ctx, s.everyFleet(), out)
			})
		if err == nil && end {
			f.End()
		}
		return err
	})
}

// flushNow does a flush that writes all devices.
func (s *Store) flushNow(ctx context.Context) error {
	return s.log.Flush(func(f entries.Flush) error { return s.flush(ctx, f, true) })
}

// wasFlushed sees that there was a flush.
func (s *Store) wasFlushed(t *testing.T) {
	t.Helper()
	_ = s.log.Flush(func(f entries.Flush) error {
		if next, _ := f.Frozen(); next == 0 {
			t.Error("there was no flush")
		}
		return nil
	})
}
