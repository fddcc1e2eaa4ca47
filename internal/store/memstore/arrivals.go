package memstore

import (
	"context"
	"slices"

	"github.com/andonhq/andon"
)

// inOrder puts the entries of the write under way into the order of the log.
func (f *following) inOrder(states *andon.StateSet) {
	slices.SortStableFunc(f.came, func(a, b andon.Event) int {
		if a.Device != b.Device {
			return andon.CompareInBatch(&a, &b)
		}
		return a.Key(states).Compare(b.Key(states))
	})
}

// Arrivals returns entries in the order of their arrival.
func (s *Store) Arrivals(
	ctx context.Context, id andon.TenantID, q andon.ArrivalQuery,
) (part andon.Arrived, err error) {
	f, err := s.follow(ctx, id)
	if err != nil {
		return part, err
	}
	err = s.within(ctx, id, func(t *tenant) error {
		after, _ := f.Kept()
		if q.After != nil {
			after = *q.After
		}
		all, end, err := f.Entries(after)
		part.Next = end
		for _, a := range all {
			_, e, err := t.entry(a.Device, a.Time, a.State)
			if err != nil || e.Withdrawn != nil || !q.Admits(a.Time, a.State) {
				continue
			}
			if len(part.Items) == q.Limit {
				part.Next, part.More = part.Items[q.Limit-1].Position, true
				break
			}
			a.EscalatedTo = e.CurrentEscalation().To
			part.Items = append(part.Items, a)
		}
		return err
	})
	return part, err
}
