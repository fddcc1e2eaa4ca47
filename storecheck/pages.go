package storecheck

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// lister reads a list of the tenant that a check is in.
type lister func(turn) ([]string, error)

// Ask returns the items of a list with all that they have, read in pages of a limit; NotAsked where
// the store declares that it can't serve the list. The words are those of an expectation before its
// colon: it panics where they are no list. Random histories ask it.
func (e *Env) Ask(
	ctx context.Context, id andon.TenantID, limit int, words ...string,
) ([]string, error) {
	t := e.turn(ctx, id, words...)
	list := t.list()
	t.limit = limit
	return list(t)
}

// listing makes a lister of a list that is read in pages of a limit, and of how its items are
// written. It reads the list in the largest pages, then in pages of one, and of two where it has
// two items. They must not differ, so every list that a check looks at is a check of paging too.
func listing[T any](
	read func(turn) iter.Seq2[T, error], render func(*Env, T) string,
) lister {
	return func(t turn) (whole []string, err error) {
		if t.limit > 0 {
			for item, err := range read(t) {
				if err != nil {
					return nil, err
				}
				whole = append(whole, render(t.Env, item)+fmt.Sprintf(" %+v", item))
			}
			return whole, nil
		}
		limits := []int{andon.MaxLimit, 1, 2}
		if t.whole {
			limits = limits[:1]
		}
		for _, limit := range limits {
			if limit == 2 && len(whole) < limit {
				break // the first page would be all of it, as the largest is
			}
			var items []string
			t.limit = limit
			for item, err := range read(t) {
				if err != nil {
					return nil, fmt.Errorf("in pages of %d: %w", limit, err)
				}
				items = append(items, render(t.Env, item))
			}
			if limit == andon.MaxLimit {
				whole = items
			} else if !slices.Equal(items, whole) {
				return nil, fmt.Errorf("in pages of %d the list is %s, read whole it is %s",
					limit, show(items), show(whole))
			}
		}
		return whole, nil
	}
}

func show(items []string) string { return "[" + strings.Join(items, " ") + "]" }
