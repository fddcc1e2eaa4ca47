package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/storecheck"
)

// arriving reads on in the order of arrival, on the store and on the reference, from positions that
// mean one moment.
type arriving struct {
	at, want andon.Position
	ended    bool // the position must be gone: its tenant was deleted
}

// arrive compares what arrived since several moments. Now and then another reader begins.
// Requests that are sent at the same time arrive in any order, and positions of the two stores can
// not be compared, so what arrived is compared without its order, which the checks look at.
func (w *world) arrive(ctx context.Context, h history, r *rand.Rand) error {
	if !w.store.store.Capabilities().Arrivals {
		return nil
	}
	for _, tenant := range h.tenants {
		all := w.arriving[tenant]
		if len(all) < mostFollowers && (len(all) == 0 || r.IntN(3) == 0) {
			_, at, err := w.store.store.ChangesKept(ctx, tenant)
			if err != nil {
				return err
			}
			_, want, err := w.want.store.ChangesKept(ctx, tenant)
			if err != nil {
				return err
			}
			all = append(all, &arriving{at: at, want: want})
		}
		for i, a := range all {
			if err := w.arrivedSince(ctx, tenant, a, r); err != nil {
				return fmt.Errorf("what arrived at %s, reader %d: %w", short(tenant), i, err)
			}
		}
		w.arriving[tenant] = slices.DeleteFunc(all, func(a *arriving) bool {
			return a.ended || r.IntN(20) == 0
		})
	}
	return nil
}

func (w *world) arrivedSince(
	ctx context.Context, tenant andon.TenantID, a *arriving, r *rand.Rand,
) error {
	limit := 1 + r.IntN(7)
	read := func(s *subject, at andon.Position) (texts []string, next andon.Position, err error) {
		q := andon.ArrivalQuery{After: &at, Limit: limit}
		all, next, err := storecheck.Arrivals(ctx, s.store, tenant, q)
		for _, a := range all {
			texts = append(texts, fmt.Sprintf("%+v", a.Event))
		}
		slices.Sort(texts)
		return texts, next, err
	}
	got, at, err := read(w.store, a.at)
	if a.ended {
		if andon.KindOf(err) != andon.Gone {
			return fmt.Errorf("its position should be gone: %w", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	wanted, want, err := read(w.want, a.want)
	if err != nil {
		return err
	}
	if !slices.Equal(got, wanted) {
		return fmt.Errorf("it is\n%s\nwant\n%s",
			strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
	if r.IntN(2) == 0 { // else it looks at the same once more, after what comes next
		a.at, a.want = at, want
	}
	return nil
}
