package httpapi

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/openapi"
)

func (a *API) document(routes []*route) []byte {
	var operations []openapi.Operation
	for _, r := range routes {
		if !r.hidden {
			operations = append(operations, r.operation())
		}
	}
	return openapi.Document(a.options.Version.Version, operations)
}

func (r *route) operation() openapi.Operation {
	return openapi.Operation{
		Method: r.method(), Path: r.path(), PathNames: r.names, Name: r.name,
		Order: r.fixedOrder, Query: r.query, Tenant: !r.outside && !r.tenantless,
		Open: r.open, Body: r.body, Answer: r.answer, Versioned: r.versioned,
		Statuses: r.statuses, Errors: r.possibleErrors(),
	}
}

// alwaysPossible are the errors that any request may get: a parameter that is not known, an Origin
// that is another site's, a Host that is, a fault of this side.
var alwaysPossible = []int{400, 403, 421, 500}

func (r *route) possibleErrors() []int {
	all := append(slices.Clone(alwaysPossible), r.errors...)
	if !r.open {
		all = append(all, http.StatusUnauthorized)
	}
	if !r.outside { // it reads the store, in a slot
		all = append(all, http.StatusServiceUnavailable, http.StatusTooManyRequests)
	}
	if !r.outside && !r.tenantless { // for a tenant that may not be there
		all = append(all, http.StatusNotFound)
	}
	if r.body != nil {
		all = append(all, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType)
	}
	if r.method() != http.MethodGet && !r.readOnly {
		all = append(all, http.StatusInsufficientStorage)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// accountContent is the answer to a body of many entries.
func accountContent() *content {
	return &content{Kind: reflect.TypeFor[client.Result]()}
}
