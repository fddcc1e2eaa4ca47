package pebblestore

import (
	"cmp"

	"github.com/andonhq/andon"
)

// Checkpoint has a store write a checkpoint, merge what is loose behind it, and settle its
// readings, now.
func Checkpoint(s andon.Store) error {
	return cmp.Or(s.(*Store).checkpoint(), s.(*Store).mergeAll(), s.(*Store).settleReadings())
}

// mergeAll merges all days that are loose, whether they are due or not.
func (s *Store) mergeAll() error {
	for i := range s.merges.loose {
		day := &s.merges.loose[i]
		day.Quiet, day.Rounds = quietAt, max(restRounds, day.Rounds)
	}
	return s.mergeBlocks(func() bool { return false })
}
