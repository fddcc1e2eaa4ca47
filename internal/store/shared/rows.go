package shared

import (
	"context"

	"github.com/andonhq/andon"
)

// Rows are the rows of one question, read page by page as they are wanted.
type Rows[R any] struct {
	page  func(ctx context.Context, state []byte) (rows []R, next []byte, err error)
	rows  []R // read and not taken
	state []byte
	begun bool
}

// NewRows asks nothing yet. page reads the rows from where state says, nil at first; next is where
// the next page begins, empty behind the last one. A page may have no rows.
func NewRows[R any](
	page func(ctx context.Context, state []byte) (rows []R, next []byte, err error),
) *Rows[R] {
	return &Rows[R]{page: page}
}

// Head returns the next row without taking it; nil behind the last.
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

// Instant takes all rows of the next time from several questions whose rows stand in one order of
// time; none behind the last.
func Instant[R any](
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
