package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/andonhq/andon"
)

// Device is what a device shows now.
type Device struct {
	Device        andon.DeviceID `json:"device"`
	State         andon.State    `json:"state,omitempty"`
	Severity      uint8          `json:"severity" doc:"0 is normal; higher is worse"`
	Since         andon.Time     `json:"since,omitempty" doc:"when it entered the state"`
	Time          andon.Time     `json:"time,omitempty" doc:"of its newest entry"`
	Received      andon.Time     `json:"received,omitempty" doc:"arrival of its newest message"`
	Operator      andon.PersonID `json:"operator,omitempty"`
	EscalatedTo   andon.PersonID `json:"escalated_to,omitempty"`
	Escalation    *Escalated     `json:"escalation,omitempty" doc:"with escalated_to"`
	IncidentSince andon.Time     `json:"incident_since,omitempty" doc:"only while one is open"`
	Silent        bool           `json:"silent" doc:"nothing arrived for longer than silent_after"`
	Message       string         `json:"message,omitempty"`
	Attributes    andon.JSON     `json:"attributes,omitempty"`
	Maintenance   *InMaintenance `json:"maintenance,omitempty" doc:"the window that it is in now"`
	Retired       andon.Time     `json:"retired,omitempty" doc:"when it was retired, if it is"`
	LastRetired   andon.Time     `json:"last_retired,omitempty" doc:"when it was, if it came back"`
	andon.Profile                // with the group that it is in, also by a rule
}

// InMaintenance is a window in which nobody is told about a device.
type InMaintenance struct {
	Name  string     `json:"name"`
	Until andon.Time `json:"until"`
}

// Escalated is the newest record of an escalation: when it was made, by whom, and why.
type Escalated struct {
	At   andon.Time     `json:"at"`
	By   andon.PersonID `json:"by,omitempty"`
	Note string         `json:"note,omitempty"`
}

// DeviceQuery selects devices by what they show now. The zero value selects all, by id.
type DeviceQuery struct {
	State       string         `query:"state"`        // as in Query
	Operator    andon.PersonID `query:"operator"`     // only with this one; "none": without one
	EscalatedTo andon.PersonID `query:"escalated_to"` // only devices escalated to this supervisor
	Silent      *bool          `query:"silent"`       // only those that are silent, or only others
	Device      string         `query:"device"`       // an id, or a prefix that ends in '*'
	Selection
	// Search selects devices whose id, operator, supervisor or message has this text in it, in any
	// case.
	Search string `query:"search"`
	// Of these one at most is set; then only Device selects, and devices are listed that show
	// nothing: those that are retired, that only ever sent readings, and that were assigned and
	// never sent an event.
	Retired   bool   `query:"retired"`
	Measuring bool   `query:"measuring"`
	Assigned  bool   `query:"assigned"`
	Sort      string `query:"sort"`  // "device", "since" or "severity"
	Page      int    `query:"limit"` // devices a request; 1,000 unless set
}

// Device returns one device; an Error of status 404 when it was never seen or is retired.
func (c *Client) Device(ctx context.Context, id andon.DeviceID) (Device, error) {
	return get[Device](ctx, c, "devices", string(id))
}

// Devices returns the devices that a query selects.
func (c *Client) Devices(ctx context.Context, q DeviceQuery) iter.Seq2[Device, error] {
	return list[Device](ctx, c, q, "devices")
}

// Retire takes a device out of counts and lists; its history stays until it expires. It returns
// when that takes effect: an entry after it brings the device back. An Error of status 404 when it
// was never seen or is retired already; so an answer that is lost is not asked for again.
func (c *Client) Retire(ctx context.Context, id andon.DeviceID) (andon.Time, error) {
	answer, err := ask[andon.Retirement](ctx, c, request{
		method: http.MethodDelete, path: path("devices", string(id)), once: true,
	})
	return answer.At, err
}

// Purge removes a device with all that it ever sent and all that was said of it. An Error of status
// 404 when nothing is kept of it; so an answer that is lost is not asked for again.
func (c *Client) Purge(ctx context.Context, id andon.DeviceID) error {
	return c.do(ctx, request{
		method: http.MethodDelete, path: path("devices", string(id)), once: true,
		query: url.Values{"purge": {"true"}},
	}, nil)
}

// StateCount is a state, its looks, and how many devices are in it now.
type StateCount struct {
	State    andon.State `json:"state"`
	Severity uint8       `json:"severity"`
	Letter   string      `json:"letter"`
	Colour   string      `json:"colour"` // "#rrggbb"
	Symbol   string      `json:"symbol"`
	Count    int         `json:"count"`
	Silent   int         `json:"silent" doc:"of them: nothing arrived for longer than silent_after"`
}

// States returns the states with their counts, by severity, and the number of all devices.
func (c *Client) States(ctx context.Context) (states []StateCount, total int, err error) {
	query := url.Values{}
	for {
		var answer struct {
			page[StateCount]
			Total int `json:"total"`
		}
		ask := request{method: http.MethodGet, path: path("states"), query: query}
		if err := c.do(ctx, ask, &answer); err != nil {
			return nil, 0, err
		}
		states = append(states, answer.Items...)
		if answer.Next == "" {
			return states, answer.Total, nil
		}
		query.Set("cursor", answer.Next)
	}
}

// Interval is one run of one state.
type Interval struct {
	State   andon.State `json:"state"`
	From    andon.Time  `json:"from"`
	To      andon.Time  `json:"to,omitempty" doc:"when the next run began; absent while it runs"`
	Seconds float64     `json:"seconds" doc:"up to now where it runs"`
}

// Intervals returns the runs of a device.
func (c *Client) Intervals(
	ctx context.Context, id andon.DeviceID, q Query,
) iter.Seq2[Interval, error] {
	return list[Interval](ctx, c, q, "devices", string(id), "intervals")
}
