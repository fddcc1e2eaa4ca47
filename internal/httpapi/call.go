package httpapi

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/access"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/spell"
)

// call is one request to a route, and what handlers ask of it. The methods that read parameters
// write down what is wrong and return the zero value, so that a handler reads all of them first and
// then asks once, with fault: the client is told of everything at fault together.
type call struct {
	*API
	x       *exchange
	r       *http.Request
	context context.Context // ends with the call at the latest
	route   *route
	tenant  andon.TenantID
	query   url.Values
	status  int // of the answer, if it succeeds
	wrong   []andon.FieldError
	undo    []func() // at the end of the call
	stopped any      // where a search ended before it had seen all; the next page goes on there
	turn
	life *lifetime // context, unless the call may take long
}

// longCall is how long a call takes until it asks whether its client is still there.
const longCall = 50 * time.Millisecond

// newCall begins a call of a client that was let in as who; stop ends it.
func (a *API) newCall(x *exchange, r *http.Request, who string) *call {
	a.metrics.inFlight.Inc()
	made := &struct { // in one piece
		call
		life lifetime
	}{}
	made.life = lifetime{
		request: r.Context(), end: x.begun.Add(a.options.Timeout), long: x.begun.Add(longCall),
		caller: caller{who: who, x: x, r: r},
	}
	c := &made.call
	*c = call{
		API: a, x: x, r: r, context: &made.life, life: &made.life, route: x.route,
		tenant: andon.DefaultTenant, turn: turn{of: a},
	}
	if c.route.isLong(r) {
		c.untilStopped()
	}
	if len(c.route.statuses) > 0 {
		c.status = c.route.statuses[0]
	}
	return c
}

// untilStopped gives a call that may take long the time until the program stops, and its client
// the time of a call for each piece of the answer.
func (c *call) untilStopped() {
	c.x.eachWrite = c.options.Timeout
	c.x.setWriteDeadline(time.Time{})
	c.life.end = time.Time{}
	ctx, cancel := context.WithCancel(c.life)
	forget := context.AfterFunc(c.ending, cancel)
	c.context = ctx
	c.undo = append(c.undo, cancel, func() { forget() })
	if c.bySession() { // a browser that signs out is sent nothing more
		c.undo = append(c.undo, c.guard.OnEnd(c.life.caller.who, cancel))
	}
}

// bySession reports whether the call is one of a browser that signed in.
func (c *call) bySession() bool { return access.IsSession(c.life.caller.who) }

func (c *call) stop() {
	c.release()
	c.metrics.inFlight.Dec()
	for _, f := range c.undo {
		f()
	}
	c.life.stop()
}

func (c *call) ctx() context.Context { return c.context }

// prepare reads what is the same for every route: the query as text, and the tenant.
func (c *call) prepare() error {
	if c.r.URL.RawQuery != "" && !c.route.anyQuery {
		if err := c.readQuery(); err != nil {
			return err
		}
	}
	if !c.route.outside && !c.route.tenantless {
		c.readTenant()
		c.x.tenant = c.tenant
	}
	return c.fault()
}

func (c *call) readQuery() error {
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return andon.AtField("query", "the query can't be read: %s", err)
	}
	c.query = query
	for _, name := range slices.Sorted(maps.Keys(query)) {
		c.checkParam(name, query[name])
	}
	return nil
}

// checkParam refuses what would otherwise be ignored: a misspelt parameter selects too much.
func (c *call) checkParam(name string, values []string) {
	known := make([]string, len(c.route.query))
	for i, p := range c.route.query {
		known[i] = p.Name
		if p.Name == name {
			if len(values) > 1 {
				c.mark("query."+name, "%s is given twice", name)
			}
			return
		}
	}
	if name == "order" && c.route.fixedOrder != "" {
		c.mark("query.order", "there is no order here: %s", c.route.fixedOrder)
		return
	}
	location, shown := "query."+name[:min(len(name), 64)], ingest.Clip(name)
	switch near := spell.Nearest(name, known); {
	case near != "":
		c.mark(location, "there is no parameter %s here: did you mean %s?", shown, near)
	case len(known) == 0:
		c.mark(location, "there is no parameter %s here, nor any other", shown)
	default:
		c.mark(location, "there is no parameter %s here, only %s", shown, strings.Join(known, ", "))
	}
}

func (c *call) readTenant() {
	const name = "Andon-Tenant"
	switch values := c.r.Header[name]; {
	case len(values) > 1:
		c.mark("header."+name, "%s is given twice", name)
	case len(values) == 1 && values[0] != "":
		c.tenant = andon.TenantID(values[0])
		c.check("header."+name, c.tenant.Validate())
	case c.text(tenantParam.Name) != "": // only a route that knows it has it
		c.tenant = andon.TenantID(c.text(tenantParam.Name))
		c.check("query.tenant", c.tenant.Validate())
	}
}

// mark writes down what is wrong with a field. A few are enough: a client may send thousands.
func (c *call) mark(location, format string, args ...any) {
	const enough = 10
	if len(c.wrong) == enough {
		return
	}
	message := fmt.Sprintf(format, args...)
	c.wrong = append(c.wrong, andon.FieldError{Location: location, Message: message})
}

func (c *call) check(location string, err error) {
	if err != nil {
		c.mark(location, "%s", err)
	}
}

// fault returns all that was written down as one error, or nil.
func (c *call) fault() error {
	if len(c.wrong) == 0 {
		return nil
	}
	messages := make([]string, len(c.wrong))
	for i, w := range c.wrong {
		messages[i] = w.Message
	}
	return &andon.Error{
		Kind: andon.Invalid, Message: strings.Join(messages, "; "), Fields: c.wrong,
	}
}

// record returns the tenant's record, unless a parameter is at fault.
func (c *call) record() (andon.Tenant, error) {
	if err := c.fault(); err != nil {
		return andon.Tenant{}, err
	}
	return c.store.Tenant(c.ctx(), c.tenant)
}

// answer sends a value, which is a pointer, as JSON. It is written whole before the first byte goes
// out, so that a value that can't be written is an error and not half an answer.
func (c *call) answer(value any) error {
	text, err := appendJSON(nil, value)
	if err != nil {
		return fmt.Errorf("write answer of %s: %w", c.route.name, err)
	}
	c.send(typeJSON, append(text, '\n'))
	return nil
}

// send sends a whole answer. That the client is gone by now changes nothing.
func (c *call) send(contentType string, body []byte) {
	c.end()
	c.x.set("Content-Type", contentType)
	c.x.set("Content-Length", strconv.Itoa(len(body)))
	c.x.WriteHeader(c.status)
	_, _ = c.x.Write(body)
}
