package shared

import (
	"context"
	"strings"
)

// Merge is one list of several questions whose rows are ids in order: each id once, also where a
// question has it several times.
type Merge[ID ~string] struct {
	all   []*Rows[ID]
	begun bool
}

// NewMerge asks nothing yet.
func NewMerge[ID ~string](all ...*Rows[ID]) *Merge[ID] { return &Merge[ID]{all: all} }

// Next returns up to n more ids that begin with a prefix; none at the end.
func (m *Merge[ID]) Next(ctx context.Context, prefix string, n int) (ids []ID, err error) {
	if !m.begun { // all questions are asked at once, the first time
		m.begun = true
		err = Parallel(ctx, len(m.all), func(ctx context.Context, i int) error {
			_, err := m.all[i].Head(ctx)
			return err
		})
	}
	for err == nil && len(ids) < n {
		var least *ID
		if least, err = m.least(ctx); least == nil || !strings.HasPrefix(string(*least), prefix) {
			break
		}
		ids = append(ids, *least)
		err = m.skip(ctx, *least)
	}
	return ids, err
}

// least returns the smallest id; nil at the end.
func (m *Merge[ID]) least(ctx context.Context) (least *ID, err error) {
	for _, rows := range m.all {
		head, err := rows.Head(ctx)
		if err != nil {
			return nil, err
		}
		if head != nil && (least == nil || *head < *least) {
			least = head
		}
	}
	return least, nil
}

// skip takes an id wherever it is the next one.
func (m *Merge[ID]) skip(ctx context.Context, id ID) error {
	for _, rows := range m.all {
		for {
			head, err := rows.Head(ctx)
			if err != nil {
				return err
			}
			if head == nil || *head != id {
				break
			}
			rows.Take()
		}
	}
	return nil
}
