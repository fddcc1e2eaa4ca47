package shared

import (
	"context"
	"iter"

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

// Each yields the rows from the next one on, and takes each.
func (r *Rows[R]) Each(ctx context.Context) iter.Seq2[R, error] {
	return seq.Of(func(yield func(R) bool) error {
		for {
			head, err := r.Head(ctx)
			if err != nil || head == nil || !yield(r.Take()) {
				return err
			}
		}
	})
}
