package dynamostore

import (
	"context"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
)

// Lists by how long devices are in their states, or by severity, have no index of their own: one
// would cost each change of a state two more writes. The rows of ByState have all that they are
// sorted by, so a page reads those of all states that the list is of, about 30 of them for a read
// unit, and the devices of the page. By severity it ends with the state that fills the page.

// mostSorted is how many places of a list are kept while it is read: about 16 MB.
const mostSorted = 1 << 17

// place is where an index has a device in a list.
type place struct {
	andon.DevicePosition
	state andon.State
}

// sorted yields the devices that a query selects, in an order other than by id. A device for which
// the index lags is not where its list would have it, so it is left out until the index follows.
func (s *Store) sorted(
	ctx context.Context, t *tenant, q *andon.DeviceQuery, yield func(andon.Device) bool,
) error {
	if q.Operator != "" || q.EscalatedTo != "" {
		return s.sortedOfPerson(ctx, t, q, yield)
	}
	groups, err := s.sortedGroups(ctx, t, q)
	if err != nil {
		return err
	}
	left := q.Limit
	for _, states := range groups {
		rest := *q // after what was read already
		for left > 0 {
			places, more, err := s.firstPlaces(ctx, t, &rest, states)
			if err == nil {
				left, err = s.yieldPlaces(ctx, t, q, places, left, yield)
			}
			if err != nil {
				return err
			}
			if !more {
				break
			}
			rest.After = &places[len(places)-1].DevicePosition
		}
	}
	return nil
}

// sortedOfPerson is sorted for the devices of one person: they are few, and their index has no
// times.
func (s *Store) sortedOfPerson(
	ctx context.Context, t *tenant, q *andon.DeviceQuery, yield func(andon.Device) bool,
) error {
	all := *q
	all.After, all.Limit = nil, mostSorted // of the index, which is by id
	found, err := s.candidates(ctx, t, &all)
	if err != nil {
		return err
	}
	known := map[andon.DeviceID]*device{}
	var shown []andon.Device
	for ids, err := range seq.Pieces(func() int { return ddb.MaxPage }, found) {
		if err != nil {
			return err
		}
		devices, are, err := s.admitted(ctx, t, ids, q)
		if err != nil {
			return err
		}
		for _, d := range devices {
			known[d.ID] = d
		}
		shown = append(shown, are...)
	}
	slices.SortFunc(shown, func(a, b andon.Device) int {
		return a.Position().Compare(b.Position(), q.Sort)
	})
	shown = shown[:min(q.Limit, len(shown))]
	of := make([]*device, len(shown))
	for i := range shown {
		of[i] = known[shown[i].ID]
	}
	return seq.Yield(seq.List(func() ([]andon.Device, error) {
		return shown, s.contents(ctx, t, of, shown)
	}), yield)
}

// sortedGroups returns the states that a query selects, in groups, each before the next in the
// order.
func (s *Store) sortedGroups(
	ctx context.Context, t *tenant, q *andon.DeviceQuery,
) (groups [][]andon.State, err error) {
	seen, err := s.seenStates(ctx, t.Key)
	if err != nil {
		return nil, err
	}
	seen = slices.DeleteFunc(seen, func(of andon.State) bool { return !q.States.Match(of) })
	if q.Sort == andon.BySince {
		return [][]andon.State{seen}, nil
	}
	severity := func(of andon.State) int { return int(t.Record.States.Severity(of)) }
	slices.SortStableFunc(seen, func(a, b andon.State) int { return severity(b) - severity(a) })
	for i, state := range seen {
		if i == 0 || severity(state) != severity(seen[i-1]) {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], state)
	}
	return groups, nil
}

// firstPlaces returns the first places in some states that are after the one where a query
// resumes, and whether there are more.
func (s *Store) firstPlaces(
	ctx context.Context, t *tenant, q *andon.DeviceQuery, states []andon.State,
) (places []place, more bool, err error) {
	first := func() {
		slices.SortFunc(places, func(a, b place) int {
			return a.DevicePosition.Compare(b.DevicePosition, q.Sort)
		})
		if len(places) > mostSorted {
			places, more = places[:mostSorted], true
		}
	}
	all := s.placesIn(t, q, states)
	err = shared.Parallel(ctx, len(all), func(ctx context.Context, i int) error {
		_, err := all[i].Head(ctx)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	for _, rows := range all {
		for is, err := range rows.Each(ctx) {
			if err != nil {
				return nil, false, err
			}
			if places = append(places, is); len(places) >= 2*mostSorted {
				first()
			}
		}
	}
	first()
	return places, more, nil
}

func (s *Store) placesIn(
	t *tenant, q *andon.DeviceQuery, states []andon.State,
) (all []*shared.Rows[place]) {
	for _, state := range states {
		severity := t.Record.States.Severity(state)
		if q.After != nil && q.Sort == andon.BySeverity && severity > q.After.Severity {
			continue
		}
		for _, ask := range items.DevicesOf(t, items.OfState, string(state)) {
			ask.Page, ask.Prefix = ddb.MaxPage, q.Prefix
			all = append(all, ddb.Rows(s.db, ask, func(i ddb.Item) (place, bool, error) {
				is := place{state: state, DevicePosition: andon.DevicePosition{Severity: severity,
					Since: i.Time(items.AttrSince), Device: andon.DeviceID(i.Text(items.AttrID))}}
				return is, q.After == nil || q.After.Less(is.DevicePosition, q.Sort), nil
			}))
		}
	}
	return all
}

// yieldPlaces yields the devices that are still where an index has them, up to a number, and
// returns how many are left of it.
func (s *Store) yieldPlaces(
	ctx context.Context, t *tenant, q *andon.DeviceQuery, places []place, left int,
	yield func(andon.Device) bool,
) (int, error) {
	for len(places) > 0 && left > 0 {
		piece := places[:min(len(places), max(left, 16), ddb.MaxGets)]
		places = places[len(piece):]
		at := map[andon.DeviceID]place{}
		ids := make([]andon.DeviceID, len(piece))
		for i, is := range piece {
			ids[i], at[is.Device] = is.Device, is
		}
		shown, err := s.listed(ctx, t, ids, q)
		if err != nil {
			return left, err
		}
		for i := range shown {
			is, d := at[shown[i].ID], &shown[i]
			if d.State != is.state || d.Position() != is.DevicePosition || left == 0 {
				continue
			}
			if left--; !yield(*d) {
				left = 0
			}
		}
	}
	return left, nil
}
