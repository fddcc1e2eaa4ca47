package pebblestore

import (
	"context"
	"errors"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Checkpoint has a store write a checkpoint, merge what is loose behind it, and settle its
// readings, now.
func Checkpoint(s andon.Store) error {
	return errors.Join(s.(*Store).checkpoint(), s.(*Store).mergeAll(), s.(*Store).settleReadings())
}

// PutOff has a store write devices in each round, where bytes are few, or in none. Each second
// store writes all of them where most have changed, however few there are.
func PutOff(o *Options, bytes int64, second bool) {
	if o.lag = bytes; second {
		o.table = 1 << 8
	}
}

// Finish has a store finish, however little there is.
func Finish(ctx context.Context, s andon.Store) error {
	s.(*Store).options.unread = 1
	return s.(*Store).Finish(ctx)
}

// mergeAll merges all days as if they had rest, also where there are only two runs.
func (s *Store) mergeAll() error {
	s.merges.mu.Lock()
	for i := range s.merges.settled {
		s.merges.settled[i] = s.merges.settled[0]
	}
	s.merges.rest = 2
	s.merges.mu.Unlock()
	return s.mergeBlocks()
}

// unpackInto reads a row as it is stored.
func unpackInto(r *layout.RowReader, value []byte) error {
	row, err := layout.UnpackRow(nil, value)
	if err != nil {
		return err
	}
	return r.Read(row)
}
