package pebblestore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// iterator is Pebble's, between two keys. It stops for good when its context has ended, since the
// reader has left, and at the first row that can't be read. Every loop ends as at the last row, and
// Error says why. Pebble's own iterator forgets its error at the next seek, so a query that goes
// over several runs with one iterator would miss what is damaged in all but the last.
type iterator struct {
	*pebble.Iterator
	ctx    context.Context
	table  byte
	steps  int
	keys   int   // that it was at
	values int   // that were taken
	ended  error // why it stopped
	// forward is what Forward was asked for, empty once another one has moved the iterator than
	// Next.
	forward layout.Key
	far     int // times in a row that steps did not lead there
}

func newIterator(ctx context.Context, r pebble.Reader, from, behind []byte) (*iterator, error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: behind})
	if err != nil {
		return nil, fmt.Errorf("read store: %w", readError(err))
	}
	return &iterator{Iterator: it, ctx: ctx, table: from[0]}, nil
}

// goesOn looks at the context now and then: that costs more than a step.
func (it *iterator) goesOn() bool {
	const now = 64
	if it.steps++; it.steps%now == 0 && it.ended == nil {
		it.ended = it.ctx.Err()
	}
	return it.ended == nil
}

// at counts a key, and keeps the error where there is none.
func (it *iterator) at(ok bool) bool {
	if ok {
		it.keys++
	} else {
		it.fail(it.Iterator.Error())
	}
	return ok
}

// fail keeps the first error.
func (it *iterator) fail(err error) {
	if err != nil && it.ended == nil {
		it.ended = fmt.Errorf("read store: %w", readError(err))
	}
}

// First, Last, Next, Prev, SeekGE and SeekLT are Pebble's.

func (it *iterator) First() bool          { return it.jumps() && it.at(it.Iterator.First()) }
func (it *iterator) Last() bool           { return it.jumps() && it.at(it.Iterator.Last()) }
func (it *iterator) Next() bool           { return it.goesOn() && it.at(it.Iterator.Next()) }
func (it *iterator) Prev() bool           { return it.jumps() && it.at(it.Iterator.Prev()) }
func (it *iterator) SeekGE(k []byte) bool { return it.jumps() && it.at(it.Iterator.SeekGE(k)) }
func (it *iterator) SeekLT(k []byte) bool { return it.jumps() && it.at(it.Iterator.SeekLT(k)) }

func (it *iterator) jumps() bool {
	it.forward = it.forward[:0]
	return it.goesOn()
}

// Forward is SeekGE for who reads rows with one prefix after the other, and at most one row behind
// each. Of rising prefixes the rows often stand beside each other, where a few steps cost less.
// Where they did not, it takes fewer steps.
func (it *iterator) Forward(prefix layout.Key) bool {
	const steps = 4
	rising := len(it.forward) > 0 && bytes.Compare(it.forward, prefix) < 0
	it.forward = append(it.forward[:0], prefix...)
	if !rising || !it.Valid() {
		return it.goesOn() && it.at(it.Iterator.SeekGE(prefix))
	}
	for range steps >> it.far {
		if bytes.Compare(it.Key(), prefix) >= 0 {
			it.far = 0
			return it.ended == nil
		}
		if !it.Next() {
			return false
		}
	}
	it.far = min(it.far+1, 2)
	return it.goesOn() && it.at(it.Iterator.SeekGE(prefix))
}

// byTime returns how rows that stand by rising time are read in an order.
func (it *iterator) byTime(order andon.Order) (start, move func() bool) {
	if order == andon.Asc {
		return it.First, it.Next
	}
	return it.Last, it.Prev
}

// Error returns why the iterator stopped, nil where all loops ended at their last rows.
func (it *iterator) Error() error { return it.ended }

// ValueAndErr is Pebble's.
func (it *iterator) ValueAndErr() ([]byte, error) {
	it.values++
	value, err := it.Iterator.ValueAndErr()
	it.fail(err)
	return value, readError(err)
}

// close drops the error: it is that of the last step, which was looked at.
func (it *iterator) close() {
	it.explain()
	_ = it.Close()
}
