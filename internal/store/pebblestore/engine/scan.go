package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Rows stops at each row whose key begins with a prefix, in ascending order. The iterator is valid
// within the loop.
func Rows(ctx context.Context, r pebble.Reader, prefix layout.Key) iter.Seq2[*Iterator, error] {
	return RowsBetween(ctx, r, prefix, prefix.End(), andon.Asc)
}

// RowsBetween is Rows from a key up to another, in an order of keys.
func RowsBetween(
	ctx context.Context, r pebble.Reader, from, to layout.Key, order andon.Order,
) iter.Seq2[*Iterator, error] {
	return func(yield func(*Iterator, error) bool) {
		it, err := NewIterator(ctx, r, from, to)
		if err != nil {
			yield(nil, err)
			return
		}
		defer it.Release()
		start, move := it.First, it.Next
		if order == andon.Desc {
			start, move = it.Last, it.Prev
		}
		for ok := start(); ok; ok = move() {
			if !yield(it, nil) {
				return
			}
		}
		if err := it.Error(); err != nil {
			yield(nil, err)
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

// ReadUint returns a number of 8 bytes, 0 where there is none.
func ReadUint(r pebble.Reader, k layout.Key) (uint64, error) {
	value, err := Get(r, k)
	if err != nil || value == nil {
		return 0, err
	}
	if len(value) != 8 {
		return 0, layout.ErrDamaged
	}
	return binary.BigEndian.Uint64(value), nil
}

// ReadJSON reads a value, if it is there.
func ReadJSON(r pebble.Reader, k layout.Key, into any) error {
	value, err := Get(r, k)
	if err != nil || value == nil {
		return err
	}
	return json.Unmarshal(value, into)
}

// Texts yields each text that keys have after a prefix, from one on. Where they are counted, it
// says how many rows each has.
func Texts(
	ctx context.Context, r pebble.Reader, prefix layout.Key, from string, counted bool,
) iter.Seq2[andon.NameCount, error] {
	return seq.Of(func(yield func(andon.NameCount) bool) error {
		it, err := NewIterator(ctx, r, prefix, prefix.End())
		if err != nil {
			return err
		}
		defer it.Release()
		var owner layout.Key
		for ok := it.SeekGE(append(bytes.Clone(prefix), from...)); ok; {
			text, _, found := layout.TakeText(it.Key()[len(prefix):])
			if !found {
				return layout.ErrDamaged
			}
			owner = append(owner[:0], prefix...).Text(text)
			name := andon.NameCount{Name: text}
			for ; counted && ok && bytes.HasPrefix(it.Key(), owner); ok = it.Next() {
				name.Devices++
			}
			if !yield(name) {
				return nil
			}
			if !counted {
				ok = it.SeekGE(owner.End())
			}
		}
		return it.Error()
	})
}
