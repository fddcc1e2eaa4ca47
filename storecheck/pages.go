package storecheck

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// lister reads a list of the tenant that a check is in.
type lister func(turn) ([]string, error)

// listing makes a lister of a list that is read in pages of a limit, and of how its items are
// written. It reads the list in the largest pages, then in pages of one and of two. They must not
// differ, so that every list that a check looks at is a check of paging too.
func listing[T any](
	read func(turn) iter.Seq2[T, error], render func(*Env, T) string,
) lister {
	return func(t turn) (whole []string, err error) {
		for _, limit := range []int{andon.MaxLimit, 1, 2} {
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
