package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/andonhq/andon"
)

// Where EventsSince begins, other than after a position.
const (
	Oldest = "oldest" // all that is kept in the order of its arrival
	Newest = "newest" // what arrives from now on
)

// Arrived is some of what arrived, in that order.
type Arrived struct {
	Items []andon.Arrival `json:"items"`
	// Position is where to go on, also where there are no items.
	Position andon.Position `json:"position"`
	More     bool           `json:"-"` // there may be more now
}

// EventsSince returns what arrived after a position, late entries too, at most a page of it: after
// is a position as text, Oldest or Newest. A position is that of an item, of a page before, of an
// Update, or of a snapshot of the fleet. A caller that goes on from Position misses nothing. The
// order of the query does not count. An Error of status 410 where the server does not keep what
// came after the position any more, and of status 501 where its store keeps no such order.
func (c *Client) EventsSince(ctx context.Context, after string, q Query) (Arrived, error) {
	q.Order = andon.Desc
	values := q.values()
	values.Set("after", after)
	answer, err := ask[struct {
		Arrived
		Next string `json:"next"`
	}](ctx, c, request{method: http.MethodGet, path: path("events"), query: values})
	answer.More = answer.Next != ""
	return answer.Arrived, err
}

// AllEventsSince returns what arrived after a position and is there now, page by page, and
// reports the position after each page once its items are read.
func (c *Client) AllEventsSince(
	ctx context.Context, after string, q Query, done func(andon.Position),
) iter.Seq2[andon.Arrival, error] {
	return func(yield func(andon.Arrival, error) bool) {
		for at, more := after, true; more; {
			page, err := c.EventsSince(ctx, at, q)
			if err != nil {
				yield(andon.Arrival{}, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			done(page.Position)
			at, more = page.Position.String(), page.More
		}
	}
}
