package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/access"
	"github.com/andonhq/andon/internal/httpapi/params"
)

// call is one request to a route, and what handlers ask of it. Handlers read all parameters first
// and then ask for Fault once, as package params says.
type call struct {
	*API
	x       *exchange
	r       *http.Request
	context context.Context // ends with the call at the latest
	route   *route
	tenant  andon.TenantID
	status  int // of the answer, if it succeeds
	params.Reader
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
		API: a, x: x, r: r, Reader: params.Reader{Request: r, Now: a.options.Now},
		context: &made.life, life: &made.life, route: x.route,
		tenant: andon.DefaultTenant, turn: turn{of: a},
	}
	if c.route.isLong(r) {
		c.untilStopped()
	}
	c.status = c.route.statuses[0]
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
		if err := c.ReadQuery(c.route.query, c.route.fixedOrder); err != nil {
			return err
		}
	}
	if !c.route.outside && !c.route.tenantless {
		c.readTenant()
		c.x.tenant = c.tenant
	}
	return c.Fault()
}

func (c *call) readTenant() {
	const name = "Andon-Tenant"
	switch values := c.r.Header[name]; {
	case len(values) > 1:
		c.Mark("header."+name, "%s is given twice", name)
	case len(values) == 1 && values[0] != "":
		c.tenant = andon.TenantID(values[0])
		c.Check("header."+name, c.tenant.Validate())
	case c.Text(tenantParam.Name) != "": // only a route that knows it has it
		c.tenant = andon.TenantID(c.Text(tenantParam.Name))
		c.Check("query.tenant", c.tenant.Validate())
	}
}

// record returns the tenant's record, unless a parameter is at fault.
func (c *call) record() (andon.Tenant, error) {
	if err := c.Fault(); err != nil {
		return andon.Tenant{}, err
	}
	return c.store.Tenant(c.ctx(), c.tenant)
}

// usualAnswer is how many bytes most answers of one value have at most.
const usualAnswer = 1 << 10

// answer sends a value, which is a pointer, as JSON. It is written whole before the first byte goes
// out, so that a value that can't be written is an error and not half an answer.
func (c *call) answer(value any) error {
	text, err := appendJSON(make([]byte, 0, usualAnswer), value)
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
