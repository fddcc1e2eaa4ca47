package pebblestore

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// batch is one of Pebble's that keeps its first error: a commit writes all that was put into it, or
// nothing. What is put is copied.
type batch struct {
	*pebble.Batch
	err error
}

func (s *Store) newBatch() *batch { return &batch{Batch: s.db.NewBatch()} }

func (b *batch) set(k layout.Key, value []byte) { b.keep(b.Set(k, value, nil)) }
func (b *batch) delete(k layout.Key)            { b.keep(b.Delete(k, nil)) }

// deleteRange deletes the rows from a key up to another.
func (b *batch) deleteRange(from, to layout.Key) { b.keep(b.DeleteRange(from, to, nil)) }

// deleteBelow deletes the rows whose keys begin with a prefix.
func (b *batch) deleteBelow(prefix layout.Key) { b.deleteRange(prefix, prefix.End()) }

// keep keeps the first error.
func (b *batch) keep(err error) {
	if b.err == nil {
		b.err = err
	}
}

// commit returns the first error of all, and has changed nothing then.
func (b *batch) commit(sync *pebble.WriteOptions) error {
	if b.err != nil {
		return b.err
	}
	return b.Commit(sync)
}

// close drops the error: what was committed is there, and what was not is not wanted.
func (b *batch) close() { _ = b.Close() }
