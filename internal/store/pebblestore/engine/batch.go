package engine

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Batch is one of Pebble's that keeps its first error: a commit writes all that was put into it, or
// nothing. What is put is copied.
type Batch struct {
	*pebble.Batch
	Err error
	db  *pebble.DB
}

// NewBatch returns an empty batch.
func NewBatch(db *pebble.DB) *Batch { return &Batch{Batch: db.NewBatch(), db: db} }

// Put sets a row.
func (b *Batch) Put(k layout.Key, value []byte) { b.Keep(b.Set(k, value, nil)) }

// Remove deletes a row.
func (b *Batch) Remove(k layout.Key) { b.Keep(b.Delete(k, nil)) }

// RemoveRange deletes the rows from a key up to another.
func (b *Batch) RemoveRange(from, to layout.Key) { b.Keep(b.DeleteRange(from, to, nil)) }

// RemovePrefix deletes the rows whose keys begin with a prefix.
func (b *Batch) RemovePrefix(prefix layout.Key) { b.RemoveRange(prefix, prefix.End()) }

// Keep keeps the first error.
func (b *Batch) Keep(err error) {
	if b.Err == nil {
		b.Err = err
	}
}

// Write returns the first error of all, and has changed nothing then.
func (b *Batch) Write(sync *pebble.WriteOptions) error {
	if b.Err != nil {
		return b.Err
	}
	return b.Commit(sync)
}

// Release drops the error: what was committed is there, and what was not is not wanted.
func (b *Batch) Release() { _ = b.Close() }

// Spill commits what there is of a large batch, without waiting for the disk, so that no batch
// grows without end. It is for deletions that may be made in parts.
func (b *Batch) Spill() error {
	const large = 1 << 20 // bytes
	if b.Err != nil || b.Len() < large {
		return b.Err
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return err
	}
	b.Release()
	b.Batch = b.db.NewBatch()
	return nil
}
