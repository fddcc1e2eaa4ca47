package shared

import (
	"cmp"
	"context"
	"iter"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// Merge takes the rows of several queries in one order of a key, and yields those of each key
// together. What it returns can be read once.
func Merge[R any, K cmp.Ordered](
	ctx context.Context, key func(*R) K, o andon.Order, all ...*Rows[R],
) iter.Seq2[[]R, error] {
	return seq.Of(func(yield func([]R) bool) error {
		// The first pages of all queries are read at once.
		err := Parallel(ctx, len(all), func(ctx context.Context, i int) error {
			_, err := all[i].Head(ctx)
			return err
		})
		for err == nil {
			var rows []R
			rows, err = takeNext(ctx, key, o, all)
			if err != nil || len(rows) == 0 || !yield(rows) {
				return err
			}
		}
		return err
	})
}

// takeNext takes the rows of the next key; none after the last.
func takeNext[R any, K cmp.Ordered](
	ctx context.Context, key func(*R) K, o andon.Order, all []*Rows[R],
) (rows []R, err error) {
	var next K
	found := false
	for _, of := range all {
		r, err := of.Head(ctx)
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		if k := key(r); !found || (o == andon.Asc) == (k < next) && k != next {
			next, found = k, true
		}
	}
	for _, of := range all {
		for {
			r, err := of.Head(ctx)
			if err != nil {
				return nil, err
			}
			if r == nil || key(r) != next {
				break
			}
			rows = append(rows, of.Take())
		}
	}
	return rows, nil
}

// IDs merges several queries whose rows are ids in order: each id once that begins with a prefix,
// also where one query has it several times.
func IDs[ID ~string](
	ctx context.Context, prefix string, all ...*Rows[ID],
) iter.Seq2[ID, error] {
	own := func(id *ID) ID { return *id }
	return seq.Of(func(yield func(ID) bool) error {
		for same, err := range Merge(ctx, own, andon.Asc, all...) {
			if err != nil || !strings.HasPrefix(string(same[0]), prefix) || !yield(same[0]) {
				return err
			}
		}
		return nil
	})
}

// Select yields what a list has of what was found, up to a limit. It reads ahead as many as are
// still wanted. show returns what the list has of some of them.
func Select[F, T any](
	found iter.Seq2[F, error], limit int, show func([]F) ([]T, error), yield func(T) bool,
) error {
	left := limit
	yield = seq.UpTo(limit, yield)
	for some, err := range seq.Pieces(func() int { return min(max(left, 16), 256) }, found) {
		var shown []T
		if err == nil {
			shown, err = show(some)
		}
		if err != nil {
			return err
		}
		for _, one := range shown {
			if left--; !yield(one) {
				return nil
			}
		}
	}
	return nil
}
