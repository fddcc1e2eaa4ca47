package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Rows returns the rows whose keys begin with a prefix, in ascending order: the rest of the
// key, and the value. Both are valid until the next one. It is for opening: where a row can't be
// read it panics, which RecoverUnreadable turns into an error.
func Rows(r pebble.Reader, prefix layout.Key) iter.Seq2[[]byte, []byte] {
	return RowsBetween(r, prefix, prefix.End(), len(prefix))
}

// RowsBetween is Rows between two keys, whose first n bytes are left out.
func RowsBetween(r pebble.Reader, from, to layout.Key, n int) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		it, err := r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
		if err != nil {
			panic(unreadable{fmt.Errorf("read store: %w", err)})
		}
		defer it.Close()
		for ok := it.First(); ok; ok = it.Next() {
			value, err := it.ValueAndErr()
			if err != nil {
				panic(unreadable{fmt.Errorf("read store: %w", err)})
			}
			if !yield(it.Key()[n:], value) {
				return
			}
		}
		if err := it.Error(); err != nil {
			panic(unreadable{fmt.Errorf("read store: %w", err)})
		}
	}
}

// Get returns a copy of a value, nil where there is none.
func Get(r pebble.Reader, k layout.Key) ([]byte, error) {
	value, closer, err := r.Get(k)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read store: %w", ReadError(err))
	}
	defer closer.Close()
	return append(make([]byte, 0, len(value)), value...), nil
}

// Days reads on which days devices have rows.
type Days struct{ it *Iterator }

// NewDays returns a reader of a directory of a tenant.
func NewDays(
	ctx context.Context, r pebble.Reader, table byte, tenant uint32,
) (*Days, error) {
	k := layout.NewKey(table, tenant)
	it, err := NewIterator(ctx, r, k, k.End())
	if err != nil {
		return nil, err
	}
	return &Days{it}, nil
}

// Close ends the reader.
func (d *Days) Close() { d.it.Release() }

// Of returns the days of a device, whose keys have a prefix, that a span and an order allow, in
// that order. It reads no more of them than are asked for.
func (d *Days) Of(
	prefix layout.Key, span andon.Span, order andon.Order,
) iter.Seq2[uint32, error] {
	first, last := span.From.Day(), andon.Earlier(span.To, andon.MaxTime).Day()
	return func(yield func(uint32, error) bool) {
		ok, move := false, d.it.Next
		if order == andon.Desc {
			ok = d.it.SeekGE(prefix.Inverted(last))
		} else {
			move = d.it.Prev
			ok = d.it.SeekLT(append(prefix.Inverted(first), layout.AfterText))
		}
		for ; ok && bytes.HasPrefix(d.it.Key(), prefix); ok = move() {
			n, _, ok := layout.TakeNumber(d.it.Key()[len(prefix):])
			if !ok {
				yield(0, layout.ErrDamaged)
				return
			}
			if day := ^n; day < first || day > last || !yield(day, nil) {
				return
			}
		}
		if err := d.it.Error(); err != nil {
			yield(0, err)
		}
	}
}

// RemoveDays deletes the rows of days before one from a directory. The keys of a device, or a
// tenant, begin with owner, and its days are inverted: those to go are the last.
func RemoveDays(it *Iterator, b *Batch, owner layout.Key, before uint32) error {
	owner = slices.Clip(owner)
	ok := it.SeekGE(owner.Inverted(before - 1))
	for ; ok && bytes.HasPrefix(it.Key(), owner); ok = it.Next() {
		b.Remove(it.Key())
	}
	return b.Spill()
}

// Texts calls visit for each text that the keys of a table have after the tenant, with the
// beginning of the keys that have it. visit may move the iterator.
func Texts(
	ctx context.Context, r pebble.Reader, table byte, tenant uint32,
	visit func(it *Iterator, owner layout.Key) error,
) error {
	prefix := layout.NewKey(table, tenant)
	it, err := NewIterator(ctx, r, prefix, prefix.End())
	if err != nil {
		return err
	}
	defer it.Release()
	for ok := it.First(); ok; {
		text, _, found := layout.TakeText(it.Key()[len(prefix):])
		if !found {
			return layout.ErrDamaged
		}
		if err := visit(it, layout.NewKey(table, tenant).Text(text)); err != nil {
			return err
		}
		ok = it.SeekGE(append(bytes.Clone(prefix), text+string(layout.AfterText)...))
	}
	return it.Error()
}
