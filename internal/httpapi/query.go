package httpapi

import (
	"net/url"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/openapi"
)

type param = openapi.Param

// The parameters that several requests share.
var (
	limitParam = param{
		Name: "limit", Example: 100, Initial: andon.DefaultLimit, Most: andon.MaxLimit,
	}
	cursorParam = param{Name: "cursor", Example: "AbVn3_8…"}
	orderParam  = param{
		Name: "order", Example: "desc", Values: []string{"asc", "desc"}, Initial: "desc",
	}
	fromParam  = param{Name: "from", Example: "2020-04-24T14:40:00Z"}
	toParam    = param{Name: "to", Example: "2020-04-27"}
	stateParam = param{Name: "state", Example: "WARNING*"}
)

// cursor reads into position where the page begins, and reports whether it was given.
func (c *call) cursor(position any) bool {
	text := c.Text("cursor")
	if text == "" || c.Fault() != nil { // the cursor belongs to the parameters: first they
		return false
	}
	if err := andon.DecodeCursor(c.scope(), text, position); err != nil {
		c.Check("query.cursor", err)
		return false
	}
	return true
}

// scope spells out the query that a cursor belongs to: all that selects and orders. No part of it
// holds a line break, since identifiers hold no control character and the rest is escaped.
func (c *call) scope() string {
	parts := []string{c.route.pattern, string(c.tenant)}
	for _, name := range c.route.names {
		parts = append(parts, c.Segment(name))
	}
	selecting := make(url.Values, len(c.Query))
	for name, values := range c.Query {
		selects := name != "limit" && name != "cursor" && name != explainParam.Name
		if selects && values[0] != "" {
			selecting[name] = values
		}
	}
	return strings.Join(append(parts, selecting.Encode()), "\n")
}
