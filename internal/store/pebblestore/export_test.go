package pebblestore

import "github.com/andonhq/andon"

// Checkpoint has a store write a checkpoint now.
func Checkpoint(s andon.Store) error { return s.(*Store).checkpoint() }
