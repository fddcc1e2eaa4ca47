package shared

import (
	"cmp"
	"context"
	"iter"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// Merge takes the rows of several queries in one order of a key, those of each key together.
type Merge[R any, K cmp.Ordered] struct {
	key   func(*R) K
	order andon.Order
	all   []*Rows[R]
	begun bool
}

// NewMerge reads nothing yet.
func NewMerge[R any, K cmp.Ordered](
	key func(*R) K, o andon.Order, all ...*Rows[R],
) *Merge[R, K] {
	return &Merge[R, K]{key: key, order: o, all: all}
}

// Next takes the rows of the next key; none after the last.
func (m *Merge[R, K]) Next(ctx context.Context) (rows []R, err error) {
	if !m.begun { // the first pages of all queries are read at once
		m.begun = true
		err := Parallel(ctx, len(m.all), func(ctx context.Context, i int) error {
			_, err := m.all[i].Head(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var next K
	found := false
	for _, of := range m.all {
		r, err := of.Head(ctx)
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		if k := m.key(r); !found || (m.order == andon.Asc) == (k < next) && k != next {
			next, found = k, true
		}
	}
	for _, of := range m.all {
		for {
			r, err := of.Head(ctx)
			if err != nil {
				return nil, err
			}
			if r == nil || m.key(r) != next {
				break
			}
			rows = append(rows, of.Take())
		}
	}
	return rows, nil
}

// Take takes the rows of up to n keys; none at the end.
func (m *Merge[R, K]) Take(ctx context.Context, n int) (all [][]R, err error) {
	for len(all) < n {
		rows, err := m.Next(ctx)
		if err != nil || len(rows) == 0 {
			return all, err
		}
		all = append(all, rows)
	}
	return all, nil
}

// Each yields the rows of each key.
func (m *Merge[R, K]) Each(ctx context.Context) iter.Seq2[[]R, error] {
	return seq.Of(func(yield func([]R) bool) error {
		for {
			rows, err := m.Next(ctx)
			if err != nil || len(rows) == 0 || !yield(rows) {
				return err
			}
		}
	})
}

// IDs merges several queries whose rows are ids in order: each id once, also where one query has
// it several times.
type IDs[ID ~string] struct{ Merge[ID, ID] }

// NewIDs reads nothing yet.
func NewIDs[ID ~string](all ...*Rows[ID]) *IDs[ID] {
	own := func(id *ID) ID { return *id }
	return &IDs[ID]{*NewMerge(own, andon.Asc, all...)}
}

// Next returns up to n more ids that begin with a prefix; none at the end.
func (m *IDs[ID]) Next(ctx context.Context, prefix string, n int) (ids []ID, err error) {
	for len(ids) < n {
		same, err := m.Merge.Next(ctx)
		if err != nil || len(same) == 0 || !strings.HasPrefix(string(same[0]), prefix) {
			return ids, err
		}
		ids = append(ids, same[0])
	}
	return ids, nil
}

// Chunks yields the ids that begin with a prefix, n at a time.
func (m *IDs[ID]) Chunks(ctx context.Context, prefix string, n int) iter.Seq2[[]ID, error] {
	return seq.Of(func(yield func([]ID) bool) error {
		for {
			ids, err := m.Next(ctx, prefix, n)
			if err != nil || len(ids) == 0 || !yield(ids) {
				return err
			}
		}
	})
}

// Select yields what a list has of the ids that begin with a prefix, up to a limit. It reads ahead
// as many as are still wanted. show returns what the list has of some ids.
func Select[ID ~string, T any](
	ctx context.Context, found *IDs[ID], prefix string, limit int,
	show func([]ID) ([]T, error), yield func(T) bool,
) error {
	for left := limit; left > 0; {
		ids, err := found.Next(ctx, prefix, min(max(left, 16), 256))
		if err != nil || len(ids) == 0 {
			return err
		}
		shown, err := show(ids)
		if err != nil {
			return err
		}
		for _, one := range shown[:min(left, len(shown))] {
			if left--; !yield(one) {
				return nil
			}
		}
	}
	return nil
}
