package client

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/andonhq/andon"
)

// page is one answer of a list.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// list returns the items of all pages. It ends at the first error. Ranged over again it begins
// again.
func list[T any](ctx context.Context, c *Client, path string, q url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		q := maps.Clone(q)
		for {
			p, err := ask[page[T]](ctx, c, request{method: http.MethodGet, path: path, query: q})
			if err != nil {
				yield(zero, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.Next == "" {
				return
			}
			q.Set("cursor", p.Next)
		}
	}
}

// Query selects from a list by time. The zero value selects all, newest first.
type Query struct {
	State    string      // a name, several joined by commas, or a prefix that ends in '*'
	From, To andon.Time  // both included; 0 is no bound
	Order    andon.Order // newest first unless set
	Page     int         // entries a request; 1,000 unless set
}

func (q Query) values() url.Values {
	v := url.Values{"limit": {limit(q.Page)}}
	if q.State != "" {
		v.Set("state", q.State)
	}
	if q.From != 0 {
		v.Set("from", q.From.String())
	}
	if q.To != 0 {
		v.Set("to", q.To.String())
	}
	if q.Order == andon.Asc {
		v.Set("order", "asc")
	}
	return v
}

func limit(page int) string {
	if page <= 0 {
		page = andon.MaxLimit
	}
	return strconv.Itoa(page)
}
