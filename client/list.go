package client

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// page is one answer of a list.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// list returns the items of all pages. It ends at the first error. Ranged over again it begins
// again.
func list[T any](ctx context.Context, c *Client, path string, q url.Values) iter.Seq2[T, error] {
	return seq.Of(func(yield func(T) bool) error {
		q := maps.Clone(q)
		for {
			p, err := ask[page[T]](ctx, c, request{method: http.MethodGet, path: path, query: q})
			if err != nil || !p.each(yield) || p.Next == "" {
				return err
			}
			q.Set("cursor", p.Next)
		}
	})
}

// each yields the items of an answer, and reports whether more is wanted.
func (p *page[T]) each(yield func(T) bool) bool {
	for _, item := range p.Items {
		if !yield(item) {
			return false
		}
	}
	return true
}

// Query selects from a list by time. The zero value selects all, newest first.
type Query struct {
	State    string      // a name, several joined by commas, or a prefix that ends in '*'
	From, To andon.Time  // both included; 0 is no bound
	Order    andon.Order // newest first unless set
	Page     int         // entries a request; 1,000 unless set
}

func (q Query) values() url.Values {
	order := ""
	if q.Order == andon.Asc {
		order = "asc"
	}
	return valuesOf(q.Page, map[string]string{
		"state": q.State, "from": bound(q.From), "to": bound(q.To), "order": order,
	})
}

// valuesOf are the parameters that are not empty, with how many items a page has.
func valuesOf(page int, parameters map[string]string) url.Values {
	if page <= 0 {
		page = andon.MaxLimit
	}
	v := given(parameters)
	v.Set("limit", strconv.Itoa(page))
	return v
}

// given are the parameters that are not empty.
func given(parameters map[string]string) url.Values {
	v := url.Values{}
	for name, value := range parameters {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// truth is the parameter that asks for something, or empty.
func truth(is bool) string {
	if is {
		return "true"
	}
	return ""
}

func bound(t andon.Time) string {
	if t == 0 {
		return ""
	}
	return t.String()
}
