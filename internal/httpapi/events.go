package httpapi

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/body"
	"github.com/andonhq/andon/internal/httpapi/buffer"
	"github.com/andonhq/andon/internal/httpapi/grouping"
	"github.com/andonhq/andon/internal/httpapi/metrics"
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/jsonout"
)

func (a *API) eventRoutes() []*route {
	return []*route{
		feeding("POST /events", "postEvents", content{Name: "NewEvent", Schema: openapi.Event()},
			func(c *call) error {
				return serveFeed(c, jsonfeed.Events, c.intake.Events, a.metrics.Events)
			}),
		listing[jsonout.Event](route{
			pattern: "GET /devices/{device}/events", name: "listDeviceEvents",
			query: []param{stateParam, fromParam, toParam, orderParam, limitParam, cursorParam},
		}, a.deviceEvents),
		listing[jsonout.Event](route{
			pattern: "GET /operators/{operator}/events", name: "listOperatorEvents",
			query: grouping.Selecting(
				stateParam, fromParam, toParam, orderParam, limitParam, cursorParam,
			),
		}, a.operatorEvents),
		listing[jsonout.Event](route{
			pattern: "GET /supervisors/{supervisor}/events", name: "listSupervisorEvents",
			query: grouping.Selecting(
				stateParam, dateParam, fromParam, toParam, orderParam, limitParam, cursorParam,
			),
		}, a.supervisorEvents),
		a.tenantEventsRoute(),
		answering(route{
			pattern: "GET /devices/{device}/events/{time}/{state}", name: "getEvent",
			errors: []int{404},
		}, a.entry),
		a.withdrawRoute(),
	}
}

// feeding is a route that takes a body of many entries.
func feeding(pattern, name string, entry content, serve func(*call) error) *route {
	entry.Feed = true
	return &route{
		pattern: pattern, name: name, query: []param{precisionParam},
		body: &entry, answer: accountContent(), serve: serve,
	}
}

func (a *API) withdrawRoute() *route {
	r := answering(route{
		pattern: "DELETE /devices/{device}/events/{time}/{state}", name: "withdrawEvent",
		errors: []int{404, 501},
	}, a.withdrawEntry)
	r.body = &content{Kind: reflect.TypeFor[withdrawalBody]()}
	return r
}

var (
	precisionParam = param{Name: "precision", Example: "s", Values: []string{"s", "ms", "us", "ns"}}
	dateParam      = param{Name: "date", Example: "2020-04-27"}
)

// serveFeed takes a body of many entries: the hot path. It writes its answer by hand.
func serveFeed[T any](
	c *call,
	decode func(
		string, jsonfeed.Format, andon.Precision, jsonfeed.Take,
	) (ingest.Batch[T], error),
	admit func(context.Context, andon.TenantID, ingest.Batch[T]) (intake.Result, error),
	counters metrics.Entries,
) error {
	if err := c.Fault(); err != nil {
		return err
	}
	unit, _ := andon.ParsePrecision(c.Text("precision")) // it was checked
	text, format, err := c.feed()
	if err != nil {
		counters.Unread(err)
		return err
	}
	// The store's batch holds the text up to three times: in the rows of the log, in what they
	// change of what devices show, and in a buffer that may be half empty.
	if err := c.Take(3 * int64(len(text))); err != nil {
		return err
	}
	batch, err := decode(text, format, unit, c.Take)
	if err != nil {
		counters.Undecoded(text, format, err)
		return err
	}
	malformed := len(batch.Rejected)
	result, err := admit(c.ctx(), c.tenant, batch)
	if err != nil {
		counters.Unadmitted(batch.Single, err)
		return err
	}
	counters.Count(result.Accepted, malformed, len(result.Rejected)-malformed)
	return c.account(result)
}

// feed returns a body of many entries and their format.
func (c *call) feed() (text string, format jsonfeed.Format, err error) {
	media, err := body.MediaType(c.r.Header.Get("Content-Type"), typeJSON, typeNDJSON)
	if err != nil {
		return "", 0, err
	}
	if media == typeNDJSON {
		format = jsonfeed.NDJSON
	}
	text, err = c.body()
	return text, format, err
}

// account answers what became of each entry.
func (c *call) account(result intake.Result) error {
	c.x.Answers = result.Accepted
	text := append(make([]byte, 0, 64), `{"accepted":`...)
	text = strconv.AppendInt(text, int64(result.Accepted), 10)
	if len(result.Unknown) > 0 {
		names, err := json.Marshal(result.Unknown)
		if err != nil {
			return err
		}
		text = append(append(text, `,"unknown_states":`...), names...)
	}
	text = append(text, `,"rejected":[`...)
	if len(result.Rejected) == 0 {
		c.send(typeJSON, append(text, "]}\n"...))
		return nil
	}
	l := buffer.Array{Buffer: c.newBuffer()}
	l.Text(string(text))
	for i := range result.Rejected {
		l.Add(&result.Rejected[i], 1, 0)
	}
	l.Text("]}\n")
	return c.sendBuffer(l.Buffer)
}

func (a *API) deviceEvents(c *call) error {
	device := c.Device()
	return c.events(stepItems, c.Span(), func(q andon.EventQuery) iter.Seq2[andon.Event, error] {
		return a.store.DeviceEvents(c.ctx(), c.tenant, device, q)
	})
}

func (a *API) operatorEvents(c *call) error {
	operator := andon.PersonID(c.Segment("operator"))
	return c.events(stepItems, c.Span(), func(q andon.EventQuery) iter.Seq2[andon.Event, error] {
		return a.store.OperatorEvents(c.ctx(), c.tenant, operator, q)
	})
}

func (a *API) supervisorEvents(c *call) error {
	supervisor := andon.PersonID(c.Segment("supervisor"))
	return c.events(stepItems, c.DaySpan(), func(q andon.EventQuery) iter.Seq2[andon.Event, error] {
		return a.store.SupervisorEvents(c.ctx(), c.tenant, supervisor, q)
	})
}

// events answers with a page of what read gives for the parameters of the call.
func (c *call) events(
	step int, span andon.Span, read func(andon.EventQuery) iter.Seq2[andon.Event, error],
) error {
	q := andon.EventQuery{States: c.States(), Span: span, Order: c.Order()}
	tenant, err := c.record()
	if err != nil {
		return err
	}
	c.context = andon.CollectEscalations(c.context)
	ask := func(after *andon.EventKey, n int) iter.Seq2[andon.Event, error] {
		q.After, q.Limit = after, n
		return read(q)
	}
	position := func(e *andon.Event) *andon.EventKey { return new(e.Key(tenant.States)) }
	keep := keepOf(c, func(e *andon.Event) andon.DeviceID { return e.Device })
	return sendPage(c, step, keep, ask, c.showEvent, position)
}

func (c *call) showEvent(e *andon.Event) (jsonout.Event, error) {
	of := andon.EntryRef{Time: e.Time, State: e.State}
	escalated, err := c.API.escalated(c.ctx(), c.tenant, e.Device, e.EscalatedTo, of)
	return jsonout.Event{Event: *e, Escalation: escalated}, err
}

type withdrawalBody struct {
	By   andon.PersonID `json:"by,omitempty" doc:"who withdraws it"`
	Note string         `json:"note,omitempty" doc:"why"`
}

func (a *API) withdrawEntry(c *call) (client.Entry, error) {
	var sent withdrawalBody
	if c.r.ContentLength != 0 {
		var err error
		if sent, err = readBody[withdrawalBody](c); err != nil {
			return client.Entry{}, err
		}
	}
	w := andon.Withdrawal{By: sent.By, Note: sent.Note}
	w.Device, w.Time, w.State = c.entryRef()
	if _, _, err := c.intake.Withdraw(c.ctx(), c.tenant, w); err != nil {
		return client.Entry{}, c.withoutEntry(err, w.Device, w.Time, w.State)
	}
	return a.entry(c)
}

func (c *call) entryRef() (andon.DeviceID, andon.Time, andon.State) {
	at, _ := andon.ParseTime(c.Segment("time")) // it was checked
	return c.Device(), at, andon.State(c.Segment("state"))
}

func (a *API) entry(c *call) (client.Entry, error) {
	device, at, state := c.entryRef()
	entry, err := a.store.Entry(c.ctx(), c.tenant, device, at, state)
	if err != nil {
		return client.Entry{}, c.withoutEntry(err, device, at, state)
	}
	return showEntry(entry), nil
}

func showEntry(entry andon.Entry) client.Entry {
	shown := client.Entry{Event: entry.Event, Escalations: []client.Record{}}
	for _, e := range entry.Escalations {
		record := client.Record{To: e.To, At: e.At, By: e.By, Note: e.Note}
		shown.Escalations = append(shown.Escalations, record)
	}
	if w := entry.Withdrawn; w != nil {
		shown.Withdrawn = &client.Withdrawal{At: w.At, By: w.By, Note: w.Note}
	}
	return shown
}

// withoutEntry gives an entry that is not there one text, wherever that was found: one that has
// expired looks like one that never was. A tenant that is not there is what it was.
func (c *call) withoutEntry(
	err error, device andon.DeviceID, at andon.Time, state andon.State,
) error {
	if andon.KindOf(err) != andon.NotFound {
		return err
	}
	if _, err := c.record(); err != nil {
		return err
	}
	return andon.Errorf(andon.NotFound, "device %q has no entry at %s in state %q",
		device, at, state)
}
