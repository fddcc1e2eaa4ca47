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
type lister func(context.Context, *Env, andon.TenantID) ([]string, error)

// asked is one reading of a list.
type asked struct {
	context.Context
	*Env
	id    andon.TenantID
	limit int
}

// listing makes a lister of a list that is read in pages of a limit, and of how its items are
// written. It reads the list in the largest pages, then in pages of one and of two. They must not
// differ, so that every list that a check looks at is a check of paging too.
func listing[T any](
	read func(asked) iter.Seq2[T, error], render func(*Env, T) string,
) lister {
	return func(ctx context.Context, e *Env, id andon.TenantID) (whole []string, err error) {
		for _, limit := range []int{andon.MaxLimit, 1, 2} {
			var items []string
			for item, err := range read(asked{ctx, e, id, limit}) {
				if err != nil {
					return nil, fmt.Errorf("in pages of %d: %w", limit, err)
				}
				items = append(items, render(e, item))
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
