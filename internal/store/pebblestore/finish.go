package pebblestore

import (
	"context"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
)

// defaultUnread is how many bytes of rows may be left to opening, as they are unpacked. Up to a
// million changes of devices are in them, which it reads in a third of a second. A fleet has more
// of them only where flushes defer the devices, or are too slow.
const defaultUnread = checkpointBytes

// Finish implements andon.Maintenance. Its flush writes the devices, too, and it leaves no log to
// replay.
func (s *Store) Finish(ctx context.Context) error {
	s.options.pacing.Stop()
	flushed := false
	err := s.log.Flush(func(f entries.Flush) error {
		for s.unread() > s.options.unread { // twice where a flush is repeated
			if err := s.flush(ctx, f, true); err != nil {
				return err
			}
			flushed = true
		}
		return nil
	})
	if err != nil || !flushed {
		return err
	}
	written, err := s.db.AsyncFlush()
	if err != nil {
		return err
	}
	select {
	case <-written:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unread is how many bytes of rows opening would read, as they are unpacked.
func (s *Store) unread() int64 { return s.checkpoints.lag.Load() + s.checkpoints.grown.Load() }
