package engine

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Iterator is Pebble's, between two keys. It stops for good when its context has ended, since the
// reader has left, and at the first row that can't be read. Every loop ends as at the last row, and
// Error says why. Pebble's own iterator forgets its error at the next seek, so a query that goes
// over several runs with one iterator would miss what is damaged in all but the last.
type Iterator struct {
	*pebble.Iterator
	ctx    context.Context
	table  byte
	Steps  int
	Keys   int             // that it was at
	values int             // that were taken
	near   int             // steps that SeekNear takes before it seeks
	ended  error           // why it stopped
	none   pebble.KeyRange // there are no rows in it
}

// NewIterator returns an iterator over the rows from a key up to another.
func NewIterator(ctx context.Context, r pebble.Reader, from, to []byte) (*Iterator, error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return nil, fmt.Errorf("read store: %w", ReadError(err))
	}
	return &Iterator{Iterator: it, ctx: ctx, table: from[0]}, nil
}

// goesOn checks the context now and then: that costs more than a step.
func (it *Iterator) goesOn() bool {
	const now = 64
	if it.Steps++; it.Steps%now == 0 && it.ended == nil {
		it.ended = it.ctx.Err()
	}
	return it.ended == nil
}

// count counts a key, and keeps the error where there is none.
func (it *Iterator) count(ok bool) bool {
	if ok {
		it.Keys++
	} else {
		it.Fail(it.Iterator.Error())
	}
	return ok
}

// Fail keeps the first error.
func (it *Iterator) Fail(err error) {
	if err != nil && it.ended == nil {
		it.ended = fmt.Errorf("read store: %w", ReadError(err))
	}
}

// First moves to the first row.
func (it *Iterator) First() bool { return it.goesOn() && it.count(it.Iterator.First()) }

// Last moves to the last row.
func (it *Iterator) Last() bool { return it.goesOn() && it.count(it.Iterator.Last()) }

// Next moves to the next row.
func (it *Iterator) Next() bool { return it.goesOn() && it.count(it.Iterator.Next()) }

// Prev moves to the row before.
func (it *Iterator) Prev() bool { return it.goesOn() && it.count(it.Iterator.Prev()) }

// SeekGE moves to the first row from a key on.
func (it *Iterator) SeekGE(k []byte) bool { return it.goesOn() && it.count(it.Iterator.SeekGE(k)) }

// SeekLT moves to the last row before a key.
func (it *Iterator) SeekLT(k []byte) bool { return it.goesOn() && it.count(it.Iterator.SeekLT(k)) }

// mostNear is how many steps cost about as much as a seek.
const mostNear = 8

// ExpectNear says that what SeekNear and SeekWithin look for is likely to be close after where the
// iterator is, as rows of devices are that are read in the order of their keys.
func (it *Iterator) ExpectNear() { it.near = mostNear }

// SeekNear is SeekGE. Where it is told to ExpectNear it takes some steps before it seeks, and half
// as many each time that they were in vain.
func (it *Iterator) SeekNear(k []byte) bool {
	if it.near == 0 || !it.Valid() || bytes.Compare(it.Key(), k) >= 0 {
		return it.SeekGE(k)
	}
	for range it.near {
		if ok := it.Next(); !ok || bytes.Compare(it.Key(), k) >= 0 {
			it.near = mostNear
			return ok
		}
	}
	it.near /= 2
	return it.SeekGE(k)
}

// SeekWithin moves to the first row from a key on and before another. It remembers where there are
// no rows, so that looking for those of many devices that have none costs one seek together.
func (it *Iterator) SeekWithin(from, to []byte) bool {
	if bytes.Compare(it.none.Start, from) <= 0 && bytes.Compare(to, it.none.End) <= 0 {
		return false
	}
	next := []byte{0xff} // after all rows
	if it.SeekNear(from) {
		if next = it.Key(); bytes.Compare(next, to) < 0 {
			return true
		}
	}
	if it.ended == nil {
		it.none.Start = append(it.none.Start[:0], from...)
		it.none.End = append(it.none.End[:0], next...)
	}
	return false
}

// Error returns why the iterator stopped, nil where all loops ended at their last rows.
func (it *Iterator) Error() error { return it.ended }

// ValueAndErr is Pebble's.
func (it *Iterator) ValueAndErr() ([]byte, error) {
	it.values++
	value, err := it.Iterator.ValueAndErr()
	if it.Fail(err); err != nil {
		return nil, it.ended
	}
	return value, nil
}

// Release drops the error: it is that of the last step, which was checked.
func (it *Iterator) Release() {
	it.explain()
	_ = it.Close()
}

func (it *Iterator) explain() {
	p := andon.PlanOf(it.ctx)
	if p == nil {
		return
	}
	stats := it.Stats().InternalStats
	p.Add(andon.PlanStep{
		Statement: "table " + string(rune(it.table)) + ": " + layout.Describe(it.table),
		Scanned:   it.Keys, Rows: it.values,
		Bytes: int(stats.BlockBytes), Took: andon.Took(stats.BlockReadDuration),
	})
}
