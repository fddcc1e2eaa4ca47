package httpapi

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/openapi"
)

// param is a parameter of the query.
type param = openapi.Param

// The parameters that several requests share.
var (
	limitParam = param{
		Name: "limit", Example: 100,
		Detail: "Most items of a page. One that would be larger than about 4 MB ends early, with " +
			"fewer items and a `next`",
		Initial: andon.DefaultLimit, Most: andon.MaxLimit,
	}
	cursorParam = param{
		Name: "cursor", Example: "AbVn3_8…",
		Detail: "`next` of the page before; all else but `limit` must be as it was",
	}
	orderParam = param{
		Name: "order", Detail: "Newest first or oldest first", Example: "desc",
		Values: []any{"desc", "asc"}, Initial: "desc",
	}
	fromParam = param{
		Name: "from",
		Detail: "Earliest time, included; a date alone is its first instant. Relative to now: " +
			"`24h` ago, `today`, `yesterday`, `now`",
		Example: "2020-04-24T14:40:00Z",
	}
	toParam = param{
		Name:    "to",
		Detail:  "Latest time, included; a date alone is that whole day. Relative as `from`",
		Example: "2020-04-27",
	}
	stateParam = param{
		Name: "state", Example: "WARNING*",
		Detail: "A state, several joined by commas, or a prefix that ends in `*`; all without it",
	}
)

// text returns a parameter of the query; one that is empty is absent.
func (c *call) text(name string) string { return c.query.Get(name) }

func pathID[ID interface {
	~string
	Validate() error
}](c *call, name string) ID {
	id := ID(c.segment(name))
	if err := id.Validate(); err != nil {
		c.mark("path."+name, "%s", strings.Replace(err.Error(), "person", name, 1))
	}
	return id
}

func (c *call) queryPerson(name string) andon.PersonID {
	person := andon.PersonID(c.text(name))
	if person != "" {
		c.check("query."+name, person.ValidateAs(name))
	}
	return person
}

func (c *call) device() andon.DeviceID { return pathID[andon.DeviceID](c, "device") }

func (c *call) limit() int {
	text := c.text("limit")
	if text == "" {
		return andon.DefaultLimit
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > andon.MaxLimit {
		c.mark("query.limit", "limit is 1 to %d, not %q", andon.MaxLimit, text)
		return andon.DefaultLimit
	}
	return n
}

func (c *call) order() andon.Order {
	if c.oneOf("order", "asc", "desc") == "asc" {
		return andon.Asc
	}
	return andon.Desc
}

func (c *call) states() andon.StateFilter {
	filter, err := andon.ParseStateFilter(c.text("state"))
	c.check("query.state", err)
	return filter
}

func (c *call) span() andon.Span {
	span := andon.Span{
		From: c.time("from", andon.ParseLowerBoundAt), To: c.time("to", andon.ParseUpperBoundAt),
	}
	if span.Empty() {
		c.mark("query.from", "from %s is after to %s", span.From, span.To)
	}
	return span
}

// time reads a time of the query. A '+' that was not escaped arrives as a space, and behind the
// hour of a time a space can mean nothing else.
func (c *call) time(
	name string, parse func(string, andon.Time) (andon.Time, error),
) andon.Time {
	text := c.text(name)
	if text == "" {
		return 0
	}
	if i := strings.LastIndexByte(text, ' '); i > len("2006-01-02") {
		text = text[:i] + "+" + text[i+1:]
	}
	t, err := parse(text, c.options.Now())
	c.check("query."+name, err)
	return t
}

// daySpan reads date, which names a whole day, or else from and to.
func (c *call) daySpan() andon.Span {
	text := c.text("date")
	if text == "" {
		return c.span()
	}
	if c.text("from") != "" || c.text("to") != "" {
		c.mark("query.date", "date is a whole day: it does not go with from or to")
	}
	from, err := andon.ParseTime(text)
	if err == nil && len(text) != len("2006-01-02") {
		err = andon.Errorf(andon.Invalid, "date %q is not of the form 2006-01-02", text)
	}
	c.check("query.date", err)
	to, _ := andon.ParseUpperBound(text)
	return andon.Span{From: from, To: to}
}

// cursor reads into position where the page begins, and reports whether it was given.
func (c *call) cursor(position any) bool {
	text := c.text("cursor")
	if text == "" || len(c.wrong) > 0 { // the cursor belongs to the parameters: first they
		return false
	}
	if err := andon.DecodeCursor(c.scope(), text, position); err != nil {
		c.check("query.cursor", err)
		return false
	}
	return true
}

// scope spells out the query that a cursor belongs to: all that selects and orders. No part of it
// holds a line break, since identifiers hold no control character and the rest is escaped.
func (c *call) scope() string {
	parts := []string{c.route.pattern(), string(c.tenant)}
	for _, name := range c.route.pathNames() {
		parts = append(parts, c.segment(name))
	}
	selecting := make(url.Values, len(c.query))
	for name, values := range c.query {
		if selects(name) && values[0] != "" {
			selecting[name] = values
		}
	}
	return strings.Join(append(parts, selecting.Encode()), "\n")
}

// selects reports whether a parameter is part of what a cursor belongs to.
func selects(name string) bool {
	return name != "limit" && name != "cursor" && name != explainParam.Name
}
