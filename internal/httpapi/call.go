package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/access"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/httpapi/buffer"
	"github.com/andonhq/andon/internal/httpapi/grouping"
	"github.com/andonhq/andon/internal/httpapi/lifetime"
	"github.com/andonhq/andon/internal/httpapi/params"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/jsonout"
	"github.com/andonhq/andon/internal/people"
)

// call is one request to a route, and what handlers ask of it. Handlers read all parameters first
// and then ask for Fault once, as package params says.
type call struct {
	*API
	x       *exchange
	r       *http.Request
	who     string          // how the client was let in
	context context.Context // ends with the call at the latest
	route   *route
	tenant  andon.TenantID
	status  int // of the answer, if it succeeds
	limit   int // of a list: how many items a page has
	params.Reader
	undo     []func()          // at the end of the call
	selected *groups.Selected  // the devices that the answer is about; nil: all
	stopped  any               // where a search ended early; the next page goes on there
	work     intake.Slot       // of the shared work
	taken    int64             // of the memory for requests
	life     *lifetime.Context // context, unless the call may take long
}

// longCall is how long a call takes until it looks whether its client is still there.
const longCall = 50 * time.Millisecond

// newCall begins a call of a client that was let in as who; stop ends it.
func (a *API) newCall(x *exchange, r *http.Request, who string) *call {
	a.metrics.InFlight.Inc()
	c := &call{
		API: a, x: x, r: r, Reader: params.Reader{Request: r, Now: a.options.Now},
		who: who, route: x.route, status: x.route.statuses[0],
		tenant: andon.DefaultTenant,
	}
	c.life = &lifetime.Context{
		Request: r.Context(), End: x.Begun.Add(a.options.Timeout), Long: x.Begun.Add(longCall),
		Caller: c.caller,
	}
	c.context = c.life
	if c.route.isLong(r) {
		c.untilStopped()
	}
	return c
}

func (c *call) caller() intake.Caller {
	return intake.Caller{Who: c.who, Remote: c.r.RemoteAddr, RequestID: c.x.ID}
}

// untilStopped gives a call that may take long the time until the program stops, and its client
// the time of a call for each piece of the answer.
func (c *call) untilStopped() {
	c.x.EachWrite = c.options.Timeout
	c.x.SetWriteDeadline(time.Time{})
	c.life.End = time.Time{}
	ctx, cancel := context.WithCancel(c.life)
	forget := context.AfterFunc(c.ending, func() { cancel(); c.x.Hurry() })
	c.context = ctx
	c.undo = append(c.undo, cancel, func() { forget() })
	if c.bySession() { // a browser that signs out is sent nothing more
		c.undo = append(c.undo, c.guard.OnEnd(c.who, cancel))
	}
}

func (c *call) bySession() bool { return access.IsSession(c.who) }

func (c *call) stop() {
	c.release()
	c.metrics.InFlight.Dec()
	for _, f := range c.undo {
		f()
	}
	c.life.Stop()
}

func (c *call) ctx() context.Context { return c.context }

// prepare reads what is the same for every route: the query as text, the path, and the tenant.
func (c *call) prepare() error {
	if c.r.URL.RawQuery != "" && !c.route.anyQuery {
		if err := c.ReadQuery(c.route.query, c.route.fixedOrder); err != nil {
			return err
		}
	}
	if !c.route.outside && !c.route.tenantless {
		c.readTenant()
		c.x.Tenant = c.tenant
	}
	if len(c.Query) == 0 {
		c.checkPath()
		return c.Fault()
	}
	s := grouping.Selection(&c.Reader)
	err := c.Fault()
	if err == nil && !s.SelectsAll() {
		c.selected, err = c.intake.Groups.Select(c.ctx(), c.tenant, s)
	}
	c.checkPath()
	c.CheckValues(c.route.query)
	return err
}

func (c *call) checkPath() {
	suffix := ""
	if c.route.name == "getSchedule" { // or its calendar
		suffix = people.CalendarSuffix
	}
	if !c.route.outside {
		c.CheckPath(c.route.names, suffix)
	}
}

// keepOf reports whether an item is about a device that is selected; nil: all are.
func keepOf[S any](c *call, device func(*S) andon.DeviceID) func(*S) bool {
	if c.selected == nil {
		return nil
	}
	return func(item *S) bool { return c.selected.Contains(device(item)) }
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
	text, err := jsonout.Append(make([]byte, 0, usualAnswer), value)
	if err != nil {
		return err
	}
	c.send(typeJSON, append(text, '\n'))
	return nil
}

// send sends a whole answer. That the client is gone by now changes nothing.
func (c *call) send(contentType string, body []byte) {
	c.end()
	c.x.Header().Set("Content-Type", contentType)
	c.x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	c.x.WriteHeader(c.status)
	_, _ = c.x.Write(body)
}

// newBuffer makes a buffer for an answer, whose memory is given back at the end of the call.
func (c *call) newBuffer() *buffer.Buffer {
	b := buffer.New(c.intake.Answers, func() { c.metrics.Refused("memory") })
	c.undo = append(c.undo, b.Free)
	return b
}

// sendBuffer sends a whole answer, unless writing it failed. Until the client has read it, it holds
// the memory that it really takes.
func (c *call) sendBuffer(b *buffer.Buffer) error {
	if err := b.Err(); err != nil {
		return err
	}
	c.end()
	b.Trim()
	c.x.Header().Set("Content-Type", typeJSON)
	c.x.Header().Set("Content-Length", strconv.FormatInt(b.Size(), 10))
	c.x.WriteHeader(c.status)
	_ = b.Flush(c.x) // that the client is gone changes nothing
	return nil
}

// flushLines sends what is written so far of an answer that goes on, and gives its memory back.
func (c *call) flushLines(b *buffer.Buffer) error {
	if c.x.Status == 0 {
		c.x.Header().Set("Content-Type", typeNDJSON)
		c.x.WriteHeader(c.status)
	}
	err := b.Flush(c.x)
	b.Free()
	return err
}
