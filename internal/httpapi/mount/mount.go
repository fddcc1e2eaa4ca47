// Package mount lets routes live in packages of their own: what such a package says of a route, and
// what its handlers ask of a call. Package httpapi serves the routes. This one knows no route and
// no store.
package mount

import (
	"context"
	"iter"
	"reflect"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/httpapi/params"
	"github.com/andonhq/andon/internal/httpapi/strictjson"
	"github.com/andonhq/andon/internal/intake"
)

// Route is one request of the contract, about a tenant.
type Route struct {
	Pattern      string // "METHOD /path", below the base of the contract
	Name         string // of the operation, by which it is described: "listGroups"
	Query        []openapi.Param
	Body, Answer *openapi.Content
	Errors       []int  // beyond those that every request may get
	FixedOrder   string // of a list that takes no order: why

	Serve func(*Call) error
}

// Call is one request to a route. Handlers read all parameters first and then ask for Fault once,
// as package params says.
type Call struct {
	*params.Reader
	Context context.Context // ends with the call at the latest
	Tenant  andon.TenantID
	Server
}

// Server is what package httpapi does for a handler.
type Server interface {
	// Record returns the tenant's record, unless a parameter is at fault.
	Record() (andon.Tenant, error)

	// Body returns the text of the body and its media type, which must be one of some.
	Body(media ...string) (text, is string, err error)

	// Cursor reads into position where the page begins, and reports whether it was given.
	Cursor(position any) bool

	// Answer sends a value, which is a pointer, as JSON.
	Answer(value any) error

	// Account answers what became of each entry of a body.
	Account(result intake.Result) error

	// Page answers with up to limit items, and where there are more with the cursor of the next
	// page, which is the position of the last item.
	Page(limit int, items iter.Seq2[any, error], position func(item any) any) error
}

// The parameters of every list.
var (
	Limit = openapi.Param{
		Name: "limit", Example: 100, Initial: andon.DefaultLimit, Most: andon.MaxLimit,
	}
	Cursor = openapi.Param{Name: "cursor", Example: "AbVn3_8…"}
)

// List is a page of items, and the cursor of the next one where there are more.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"cursor of the next page; absent on the last one"`
}

// Answering completes a route whose answer is one JSON value.
func Answering[T any](r Route, handle func(*Call) (T, error)) Route {
	r.Answer = &openapi.Content{Kind: reflect.TypeFor[T]()}
	r.Serve = func(c *Call) error {
		value, err := handle(c)
		if err == nil {
			err = c.Fault()
		}
		if err != nil {
			return err
		}
		return c.Answer(&value)
	}
	return r
}

// Taking completes a route that takes one JSON value, strictly, and answers with another.
func Taking[B, T any](r Route, handle func(*Call, B) (T, error)) Route {
	full := Answering(r, func(c *Call) (value T, err error) {
		var sent B
		text, _, err := c.Body("application/json")
		if err == nil {
			err = strictjson.Decode(text, &sent)
		}
		if err != nil {
			return value, err
		}
		return handle(c, sent)
	})
	full.Body = &openapi.Content{Kind: reflect.TypeFor[B]()}
	return full
}

// Listing completes a route whose answer is a page of items. The handler returns one item more than
// the limit, if there is one, and what the position of an item is, from which the next page goes
// on. It may ask for Fault, or leave that to the page.
func Listing[T any](
	r Route, handle func(c *Call, limit int) (iter.Seq2[T, error], func(*T) any, error),
) Route {
	r.Query = append(r.Query, Limit, Cursor)
	r.Answer = &openapi.Content{Kind: reflect.TypeFor[List[T]](), List: true}
	r.Serve = func(c *Call) error {
		limit := c.Limit()
		items, position, err := handle(c, limit)
		if err != nil {
			return err
		}
		each := func(yield func(any, error) bool) {
			for item, err := range items {
				if !yield(&item, err) {
					return
				}
			}
		}
		return c.Page(limit, each, func(item any) any { return position(item.(*T)) })
	}
	return r
}
