package httpapi

import (
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/strictjson"
)

// route is one request of the contract: all that the router, the check of parameters and the
// OpenAPI document need to know of it.
type route struct {
	pattern string // "METHOD /path", as in the contract: below basePath unless outside
	outside bool   // of basePath, and of any tenant
	name    string // of the operation, by which it is described: "listDeviceEvents"

	tenantless bool     // the request is about no tenant, or names it in its path
	query      []param  // the query parameters it knows
	body       *content // nil: it takes none
	answer     *content // nil: an answer without content
	statuses   []int    // of success, the usual one first; 200 unless set
	errors     []int    // beyond those that every request may get
	hidden     bool     // not in the document
	open       bool     // it needs no token
	readOnly   bool     // it changes nothing, whatever its method
	long       bool     // it may take longer than Options.Timeout: a stream, work on all tenants
	anyQuery   bool     // its query is another's to read: that of a page
	lines      bool     // it answers with NDJSON where that is asked for, and then may take longer
	versioned  bool     // it reads or changes a document that has a version
	fixedOrder string   // of a list that takes no order: why

	serve func(*call) error

	names []string // the wildcards of the path, in their order
}

// content is what is sent in one direction.
type content = openapi.Content

var pathName = regexp.MustCompile(`\{([a-z]+)\}`)

// isLong reports whether the answer to a request may take longer than others.
func (r *route) isLong(asked *http.Request) bool { return r.long || r.lines && wantsLines(asked) }

func wantsLines(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), typeNDJSON)
}

// complete sets what most routes have in common. The pattern is as http.ServeMux reads it from then
// on.
func (r *route) complete() {
	if method, path, _ := strings.Cut(r.pattern, " "); !r.outside {
		r.pattern = method + " " + basePath + path
	}
	if r.statuses == nil {
		r.statuses = []int{http.StatusOK}
	}
	r.names = nil
	for _, m := range pathName.FindAllStringSubmatch(r.pattern, -1) {
		r.names = append(r.names, m[1])
	}
}

func (r *route) method() string {
	method, _, _ := strings.Cut(r.pattern, " ")
	return method
}

func (r *route) path() string {
	_, path, _ := strings.Cut(r.pattern, " ")
	return path
}

// answering completes a route whose answer is one JSON value.
func answering[T any](r route, handle func(*call) (T, error)) *route {
	r.answer = &content{Kind: reflect.TypeFor[T]()}
	r.serve = func(c *call) error {
		value, err := handle(c)
		if err == nil {
			err = c.Fault()
		}
		if err != nil {
			return err
		}
		return c.answer(&value)
	}
	return &r
}

// listing completes a route whose answer is a page of items, which the handler sends.
func listing[T any](r route, handle func(*call) error) *route {
	r.answer = &content{Kind: reflect.TypeFor[list[T]](), List: true}
	r.serve = func(c *call) error {
		c.limit = c.Limit()
		return handle(c)
	}
	return &r
}

// taking completes a route that takes one JSON object, strictly, and answers with another.
func taking[B, T any](r route, handle func(*call, B) (T, error)) *route {
	full := answering(r, func(c *call) (T, error) {
		sent, err := readBody[B](c)
		if err != nil {
			var none T
			return none, err
		}
		return handle(c, sent)
	})
	full.body = &content{Kind: reflect.TypeFor[B]()}
	return full
}

// readBody reads a body that is one JSON object, strictly.
func readBody[B any](c *call) (body B, err error) {
	text, err := c.object()
	if err == nil {
		err = strictjson.Decode(text, &body)
	}
	return body, err
}

// isClean reports whether a path, still escaped, begins with a slash and has no segment that is
// empty, unless it is the last, and none that is "." or "..". An escaped ".." is an identifier, and
// refused as one.
func isClean(path string) bool {
	rest, rooted := strings.CutPrefix(path, "/")
	if !rooted {
		return false
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(rest, "/"), "/") {
		if segment == "." || segment == ".." || (segment == "" && rest != "") {
			return false
		}
	}
	return true
}
