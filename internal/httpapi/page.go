package httpapi

import (
	"iter"
	"maps"

	"github.com/andonhq/andon"
)

// list is a page of items, and the cursor of the next one where there are more.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"cursor of the next page; absent on the last one"`
}

// readPage reads one page of limit items from items, which were asked for one more than that: it is
// how the page knows whether another follows. The cursor is the position of the last item.
func readPage[S, T any](
	c *call, limit int, items iter.Seq2[S, error], show func(*S) T, position func(*S) any,
) (list[T], error) {
	page := list[T]{Items: []T{}}
	var last S
	for item, err := range items {
		if err != nil {
			return list[T]{}, err
		}
		if len(page.Items) == limit {
			page.Next = andon.EncodeCursor(c.scope(), position(&last))
			c.linkNext(page.Next)
			break
		}
		page.Items = append(page.Items, show(&item))
		last = item
	}
	c.x.answers = len(page.Items)
	return page, nil
}

// same shows an item as it is.
func same[T any](item *T) T { return *item }

// linkNext names the next page in the header too (RFC 8288).
func (c *call) linkNext(cursor string) {
	query := maps.Clone(c.query)
	query.Set("cursor", cursor)
	target := c.r.URL.EscapedPath() + "?" + query.Encode()
	c.x.Header().Set("Link", "<"+target+`>; rel="next"`)
}
