package shared

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// Rows reads the rows of one query, page by page as they are wanted.
type Rows[R any] struct {
	page  func(ctx context.Context, state []byte) (rows []R, next []byte, err error)
	rows  []R // read and not taken
	state []byte
	begun bool
}

// NewRows reads nothing yet. page reads the rows from where state says, nil at first; next is
// where the next page begins, empty after the last one. A page may have no rows.
func NewRows[R any](
	page func(ctx context.Context, state []byte) (rows []R, next []byte, err error),
) *Rows[R] {
	return &Rows[R]{page: page}
}

// Head returns the next row without taking it; nil after the last.
func (r *Rows[R]) Head(ctx context.Context) (*R, error) {
	for len(r.rows) == 0 && (!r.begun || len(r.state) > 0) {
		rows, next, err := r.page(ctx, r.state)
		if err != nil {
			return nil, err
		}
		r.begun, r.rows, r.state = true, rows, next
	}
	if len(r.rows) == 0 {
		return nil, nil
	}
	return &r.rows[0], nil
}

// Take takes the row that Head returned.
func (r *Rows[R]) Take() R {
	row := r.rows[0]
	r.rows = r.rows[1:]
	return row
}

// All yields the rows from the next one on, and takes each.
func (r *Rows[R]) All(ctx context.Context) iter.Seq2[R, error] {
	return seq.Of(func(yield func(R) bool) error {
		for {
			head, err := r.Head(ctx)
			if err != nil || head == nil || !yield(r.Take()) {
				return err
			}
		}
	})
}

// Groups yields consecutive rows that same says belong together.
func (r *Rows[R]) Groups(ctx context.Context, same func(a, b *R) bool) iter.Seq2[[]R, error] {
	return seq.Of(func(yield func([]R) bool) error {
		var group []R
		for row, err := range r.All(ctx) {
			if err != nil {
				return err
			}
			if len(group) > 0 && !same(&group[0], &row) {
				if !yield(group) {
					return nil
				}
				group = nil
			}
			group = append(group, row)
		}
		if len(group) > 0 {
			yield(group)
		}
		return nil
	})
}

// readFirst reads the first page of several queries at once.
func readFirst[R any](ctx context.Context, all []*Rows[R]) error {
	return Parallel(ctx, len(all), func(ctx context.Context, i int) error {
		_, err := all[i].Head(ctx)
		return err
	})
}

// Instants yields the rows of several queries in one order of time, those of each time together.
func Instants[R any](
	ctx context.Context, all []*Rows[R], at func(*R) int64, o andon.Order,
) iter.Seq2[[]R, error] {
	return seq.Of(func(yield func([]R) bool) error {
		if err := readFirst(ctx, all); err != nil {
			return err
		}
		for {
			rows, err := instant(ctx, all, at, o)
			if err != nil || len(rows) == 0 || !yield(rows) {
				return err
			}
		}
	})
}

// instant takes all rows of the next time; none after the last.
func instant[R any](
	ctx context.Context, all []*Rows[R], at func(*R) int64, o andon.Order,
) (rows []R, err error) {
	var next int64
	found := false
	for _, p := range all {
		r, err := p.Head(ctx)
		if err != nil {
			return nil, err
		}
		if r != nil && (!found || (o == andon.Asc) == (at(r) < next) && at(r) != next) {
			next, found = at(r), true
		}
	}
	for _, p := range all {
		for {
			r, err := p.Head(ctx)
			if err != nil {
				return nil, err
			}
			if r == nil || at(r) != next {
				break
			}
			rows = append(rows, p.Take())
		}
	}
	return rows, nil
}
