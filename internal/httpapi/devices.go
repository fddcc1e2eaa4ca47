package httpapi

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/httpapi/grouping"
	"github.com/andonhq/andon/internal/httpapi/incidents"
	"github.com/andonhq/andon/internal/jsonout"
	"github.com/andonhq/andon/internal/people"
)

func (a *API) deviceRoutes() []*route {
	return []*route{
		answering(route{
			pattern: "GET /devices/{device}", name: "getDevice", errors: []int{404},
		}, a.device),
		listing[client.Device](route{
			pattern: "GET /devices", name: "listDevices",
			fixedOrder: "`sort` names one of three, each in the direction in which it is of use",
			query: grouping.Selecting(
				stateParam, operatorParam, escalatedParam, silentParam, deviceParam, sortParam,
				searchParam, retiredParam, measuringParam, assignedParam, limitParam, cursorParam,
			),
			errors: []int{501},
		}, a.devices),
		answering(route{
			pattern: "DELETE /devices/{device}", name: "retireDevice", query: []param{purgeParam},
			errors: []int{404, 501},
		}, a.retire),
		answering(route{
			pattern: "GET /states", name: "countStates", query: grouping.Selecting(cursorParam),
		}, a.states),
		listing[client.Interval](route{
			pattern: "GET /devices/{device}/intervals", name: "listIntervals",
			query: []param{stateParam, fromParam, toParam, orderParam, limitParam, cursorParam},
		}, a.intervals),
	}
}

var (
	operatorParam  = param{Name: "operator", Example: "Liz"}
	retiredParam   = param{Name: "retired", Example: "true", Values: []string{"true"}}
	measuringParam = param{Name: "measuring", Example: "true", Values: []string{"true"}}
	assignedParam  = param{Name: "assigned", Example: "true", Values: []string{"true"}}
	escalatedParam = param{Name: "escalated_to", Example: "Sara"}
	silentParam    = param{Name: "silent", Example: "true", Values: []string{"true", "false"}}
	purgeParam     = param{
		Name: "purge", Example: "false", Initial: "false", Values: []string{"true", "false"},
	}
	deviceParam = param{Name: "device", Example: "press*"}
	searchParam = param{Name: "search", Example: "press"}
	sortParam   = param{
		Name: "sort", Example: "severity", Initial: "device",
		Values: []string{"device", "since", "severity"},
	}
)

// Show returns what appends devices of a tenant to a text as GET /devices/{device} answers them.
func (a *API) Show(
	ctx context.Context, t *andon.Tenant,
) func([]byte, *andon.Device) ([]byte, error) {
	show := a.showDevice(ctx, t)
	return func(text []byte, d *andon.Device) ([]byte, error) {
		shown, err := show(d)
		if err != nil {
			return text, err
		}
		return jsonout.Append(text, &shown)
	}
}

func (a *API) showDevice(
	ctx context.Context, t *andon.Tenant,
) func(*andon.Device) (client.Device, error) {
	now := a.options.Now()
	kept := t.Horizon(now)
	said, unread := a.intake.Groups.Select(ctx, t.ID, groups.Selection{})
	var windows []people.Window
	if open := a.options.Maintenance; open != nil && unread == nil {
		windows, unread = open(ctx, t.ID)
	}
	return func(d *andon.Device) (client.Device, error) {
		if unread != nil {
			return client.Device{}, unread
		}
		of := d.EscalatedEntry
		if of.Time < kept.Events {
			of = andon.EntryRef{}
		}
		escalated, err := a.escalated(ctx, t.ID, d.ID, d.EscalatedTo, of)
		if escalated != nil && d.EscalatedAt != 0 && escalated.At != d.EscalatedAt {
			escalated = &client.Escalated{At: d.EscalatedAt} // what it shows has gone on
		}
		lastRetired := d.LastRetired
		if d.Retired != 0 {
			lastRetired = 0
		}
		profile := said.Profile(d.ID)
		return client.Device{
			Maintenance: incidents.ShowWindow(people.WindowOf(windows, d.ID, said.Groups)),

			Retired: d.Retired, LastRetired: lastRetired,
			Device: d.ID, State: d.State, Severity: d.Severity,
			Since: d.Since, Time: d.Time, Received: d.Received,
			Operator: d.Operator, EscalatedTo: d.EscalatedTo, Escalation: escalated,
			IncidentSince: d.IncidentSince,
			Silent:        d.Silent(now, t.SilentAfter),
			Message:       d.Message, Attributes: d.Attributes,
			Profile: profile,
		}, err
	}
}

// escalated reads the newest record of an entry that is escalated to someone; nil where it is not,
// or where the entry has expired.
func (a *API) escalated(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, to andon.PersonID,
	of andon.EntryRef,
) (*client.Escalated, error) {
	if to == "" || of.State == "" {
		return nil, nil
	}
	r, noted := andon.NotedEscalation(ctx, device, of)
	if !noted {
		e, err := a.store.Entry(ctx, id, device, of.Time, of.State)
		if andon.KindOf(err) == andon.NotFound || err == nil && len(e.Escalations) == 0 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		r = e.Escalations[0]
	}
	if r.At == 0 {
		return nil, nil // of a table that says only to whom
	}
	return &client.Escalated{At: r.At, By: r.By, Note: r.Note}, nil
}

func (a *API) device(c *call) (client.Device, error) {
	id := c.Device()
	tenant, err := c.record()
	if err != nil {
		return client.Device{}, err
	}
	c.context = andon.CollectEscalations(c.context)
	d, err := a.store.Device(c.ctx(), c.tenant, id)
	if err != nil {
		return client.Device{}, err
	}
	return a.showDevice(c.ctx(), &tenant)(&d)
}

func (a *API) devices(c *call) error {
	q := andon.DeviceQuery{
		States: c.States(), Sort: c.sort(), Kind: c.deviceKind(),
		Operator: c.Person("operator"), EscalatedTo: c.Person("escalated_to"),
	}
	if q.Unassigned = q.Operator == andon.NoPerson; q.Unassigned {
		q.Operator = ""
	}
	silent, text, exactly := c.Text("silent"), c.Text("search"), c.DeviceOrPrefix(&q)
	if text != "" && q.Kind != andon.ShownDevices {
		c.Mark("query.search", "search does not go with devices that show nothing")
	}
	tenant, err := c.record()
	if err != nil {
		return err
	}
	switch before := andon.SilentBefore(a.options.Now(), tenant.SilentAfter); silent {
	case "true":
		q.HeardBefore = before
	case "false":
		q.HeardSince = before
	}
	c.context = andon.CollectEscalations(c.context)
	read := func(after *andon.DevicePosition, n int) iter.Seq2[andon.Device, error] {
		q.After, q.Limit = after, n
		switch {
		case text != "":
			return a.search(c, q, exactly, text)
		case exactly != "":
			return a.oneDevice(c, exactly, q)
		}
		return c.devicesOf(q)
	}
	position := func(d *andon.Device) *andon.DevicePosition { return new(d.Position()) }
	// In one step, unlike entries: by another order than the id a store looks at every device for
	// each, and a device that moves meanwhile would be on one page twice.
	return sendPage(c, oneStep, nil, read, a.showDevice(c.ctx(), &tenant), position)
}

// deviceKind reads which devices a list is of. Those that show nothing have nothing that another
// filter or order could go by.
func (c *call) deviceKind() (kind andon.DeviceKind) {
	for name, named := range map[string]andon.DeviceKind{
		"retired": andon.RetiredDevices, "measuring": andon.MeasuringDevices,
		"assigned": andon.AssignedDevices,
	} {
		switch {
		case !c.Flag(name):
		case kind != andon.ShownDevices:
			c.Mark("query."+name, "of retired, measuring and assigned only one goes at once")
		default:
			kind = named
		}
	}
	if kind == andon.ShownDevices {
		return kind
	}
	for _, name := range []string{"state", "operator", "escalated_to", "silent", "sort"} {
		if text := c.Text(name); text != "" && text != "device" {
			c.Mark("query."+name, "%s does not go with devices that show nothing", name)
		}
	}
	return kind
}

func (c *call) sort() andon.DeviceSort {
	return map[string]andon.DeviceSort{
		"since": andon.BySince, "severity": andon.BySeverity,
	}[c.Text("sort")]
}

// oneDevice is the list of one device, if the query selects it.
func (a *API) oneDevice(
	c *call, id andon.DeviceID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	if q.Kind != andon.ShownDevices {
		return a.oneHidden(c, id, q)
	}
	return func(yield func(andon.Device, error) bool) {
		d, err := a.store.Device(c.ctx(), c.tenant, id)
		if err != nil && andon.KindOf(err) == andon.NotFound {
			return
		}
		if err != nil || q.Admits(&d) && c.selected.Contains(id) {
			yield(d, err)
		}
	}
}

// oneHidden does so for a device that shows nothing: of those that begin with its id it is the
// first.
func (a *API) oneHidden(
	c *call, id andon.DeviceID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	q.Prefix, q.Limit = string(id), 1
	return func(yield func(andon.Device, error) bool) {
		for d, err := range a.store.Devices(c.ctx(), c.tenant, q) {
			if (err != nil || d.ID == id && c.selected.Contains(id)) && !yield(d, err) {
				return
			}
		}
	}
}

type retiredJSON struct {
	Device  andon.DeviceID `json:"device"`
	Retired andon.Time     `json:"retired,omitempty" doc:"when it takes effect"`
	Purged  bool           `json:"purged,omitempty" doc:"only with purge=true"`
}

func (a *API) retire(c *call) (retiredJSON, error) {
	device, purge := c.Device(), c.Flag("purge")
	if err := c.Fault(); err != nil {
		return retiredJSON{}, err
	}
	if purge {
		return retiredJSON{Device: device, Purged: true}, c.intake.Purge(c.ctx(), c.tenant, device)
	}
	at, err := c.intake.Retire(c.ctx(), c.tenant, device)
	return retiredJSON{Device: device, Retired: at}, err
}

// statesPage bounds an answer that is whole for all but a tenant that was given a larger
// limits.states, or had more before there was a limit.
const statesPage = 2000

// statePosition is a place in the order of the states.
type statePosition struct {
	Severity uint8
	State    andon.State
}

func (p statePosition) compare(to statePosition) int {
	return cmp.Or(cmp.Compare(p.Severity, to.Severity), cmp.Compare(p.State, to.State))
}

func positionOf(s client.StateCount) statePosition { return statePosition{s.Severity, s.State} }

// cutStates leaves a page of the states after a position.
func cutStates(c *call, s *jsonout.States, after *statePosition) {
	if after != nil {
		s.Items = slices.DeleteFunc(s.Items, func(item client.StateCount) bool {
			return positionOf(item).compare(*after) <= 0
		})
	}
	if len(s.Items) > statesPage {
		s.Items = s.Items[:statesPage]
		s.Next = andon.EncodeCursor(c.scope(), positionOf(s.Items[statesPage-1]))
		c.linkNext(s.Next)
	}
}

func (c *call) devicesOf(q andon.DeviceQuery) iter.Seq2[andon.Device, error] {
	if c.selected == nil {
		return c.store.Devices(c.ctx(), c.tenant, q)
	}
	return c.intake.Groups.Devices(c.ctx(), c.tenant, q, c.selected)
}

func (a *API) states(c *call) (jsonout.States, error) {
	var after *statePosition
	c.cursor(&after)
	tenant, err := c.record()
	if err != nil {
		return jsonout.States{}, err
	}
	silentBefore := andon.SilentBefore(a.options.Now(), tenant.SilentAfter)
	counts, err := c.intake.Groups.Counts(c.ctx(), c.tenant, c.selected, silentBefore)
	if err != nil {
		return jsonout.States{}, err
	}
	defs := tenant.States.Defs()
	answer := jsonout.States{Items: make([]client.StateCount, 0, len(counts)+len(defs))}
	for _, n := range counts {
		answer.Items = append(answer.Items, showCount(tenant.States.Look(n.State), n))
		answer.Total += n.Count
		answer.Silent += n.Silent
	}
	for _, def := range defs { // it stays where no device is in it
		answer.Items = append(answer.Items, showCount(def, andon.StateCount{}))
	}
	slices.SortStableFunc(answer.Items, func(a, b client.StateCount) int {
		return positionOf(a).compare(positionOf(b))
	})
	answer.Items = slices.CompactFunc(answer.Items, func(a, b client.StateCount) bool {
		return a.State == b.State
	})
	cutStates(c, &answer, after)
	return answer, nil
}

func showCount(look andon.StateDef, n andon.StateCount) client.StateCount {
	return client.StateCount{
		State: look.Name, Severity: look.Severity, Letter: look.Letter, Colour: look.Colour,
		Symbol: look.Symbol, Count: n.Count, Silent: n.Silent,
	}
}
