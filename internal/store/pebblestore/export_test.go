package pebblestore

import (
	"cmp"

	"github.com/andonhq/andon"
)

// Checkpoint has a store write a checkpoint, and settle its readings, now.
func Checkpoint(s andon.Store) error {
	return cmp.Or(s.(*Store).checkpoint(), s.(*Store).settleReadings())
}
