package shared

import (
	"context"
	"strings"

	"github.com/andonhq/andon"
)

// Merge merges several queries whose rows are ids in order: each id once, also where one query has
// it several times.
type Merge[ID ~string] struct {
	all   []*Rows[ID]
	begun bool
}

// NewMerge reads nothing yet.
func NewMerge[ID ~string](all ...*Rows[ID]) *Merge[ID] { return &Merge[ID]{all: all} }

// Next returns up to n more ids that begin with a prefix; none at the end.
func (m *Merge[ID]) Next(ctx context.Context, prefix string, n int) (ids []ID, err error) {
	if !m.begun { // the first pages of all queries are read at once
		m.begun = true
		err = readFirst(ctx, m.all)
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

// Select yields the devices that a query selects, up to its limit. It reads ahead as many as are
// still wanted. show returns those of some devices that are on the list, as the list has them.
func Select(
	ctx context.Context, q *andon.DeviceQuery, found *Merge[andon.DeviceID],
	show func([]andon.DeviceID) ([]andon.Device, error), yield func(andon.Device) bool,
) error {
	for left := q.Limit; left > 0; {
		ids, err := found.Next(ctx, q.Prefix, min(max(left, 16), 256))
		if err != nil || len(ids) == 0 {
			return err
		}
		shown, err := show(ids)
		if err != nil {
			return err
		}
		for _, d := range shown[:min(left, len(shown))] {
			if left--; !yield(d) {
				return nil
			}
		}
	}
	return nil
}

// OnlyByDevice refuses other orders of a list of devices than by id.
func OnlyByDevice(store string, q *andon.DeviceQuery) error {
	if q.Sort == andon.ByDevice {
		return nil
	}
	return andon.Errorf(andon.Unsupported, "the %s store lists devices by id only, since it would "+
		"have to read all of them for another order: ask by state, or use sort=device", store)
}
