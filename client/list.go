package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// page is one answer of a list.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// list returns the items of all pages. It ends at the first error. Ranged over again it begins
// again. Of the query it sends what parameters returns.
func list[T any](
	ctx context.Context, c *Client, query any, elements ...string,
) iter.Seq2[T, error] {
	return seq.Of(func(yield func(T) bool) error {
		r := request{method: http.MethodGet, path: path(elements...), query: parameters(query)}
		if !r.query.Has("limit") {
			r = r.with("limit", andon.MaxLimit)
		}
		for {
			p, err := ask[page[T]](ctx, c, r)
			if err != nil || !p.each(yield) || p.Next == "" {
				return err
			}
			r = r.with("cursor", p.Next)
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
	// State is a name, several joined by commas, or a prefix that ends in '*'.
	State string      `query:"state"`
	From  andon.Time  `query:"from"` // included, as is To; 0 is no bound
	To    andon.Time  `query:"to"`
	Order andon.Order `query:"order"` // newest first unless set
	Page  int         `query:"limit"` // entries a request; 1,000 unless set
}

// parameters returns the fields of a query, and of what is embedded in it, by the names of their
// tags. What is zero or empty is left out.
func parameters(query any) url.Values {
	v, of := url.Values{}, reflect.ValueOf(query)
	for _, field := range reflect.VisibleFields(of.Type()) {
		if name := field.Tag.Get("query"); name != "" {
			set(v, name, of.FieldByIndex(field.Index))
		}
	}
	return v
}

// set sets a parameter, unless its value is zero.
func set(v url.Values, name string, value reflect.Value) {
	if value.IsZero() || value.CanInt() && value.Int() < 0 {
		return
	}
	value = reflect.Indirect(value)
	text := fmt.Sprint(value)
	switch {
	case value.Type() == reflect.TypeFor[andon.Order]():
		text = "asc" // the other one is zero
	case value.Kind() == reflect.Slice:
		all := make([]string, value.Len())
		for i := range all {
			all[i] = value.Index(i).String()
		}
		text = strings.Join(all, ",")
	}
	if text != "" {
		v.Set(name, text)
	}
}
