package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/andonhq/andon"
)

// Incident is one incident of a device, in the terms of ISA-18.2.
type Incident struct {
	ID     string         `json:"id"`
	Device andon.DeviceID `json:"device"`
	Kind   string         `json:"kind" doc:"state, silent, or absent: and the name of a rule"`
	Status string         `json:"status" doc:"what it needs of people"`

	State    andon.State `json:"state,omitempty" doc:"the newest above severity 0"`
	Severity uint8       `json:"severity"`
	Worst    uint8       `json:"worst" doc:"the highest severity so far"`
	Since    andon.Time  `json:"since"`
	Until    andon.Time  `json:"until,omitempty" doc:"when the condition ended"`
	Opened   andon.Time  `json:"opened" doc:"by the clock of the server"`
	Ended    andon.Time  `json:"ended,omitempty" doc:"when it was closed"`
	Count    int         `json:"count" doc:"entries, as far as they were counted"`

	Operator andon.PersonID `json:"operator,omitempty"`
	Message  string         `json:"message,omitempty"`
	Late     bool           `json:"late" doc:"found in the log later; nobody was notified"`
	Joined   []string       `json:"joined,omitempty" doc:"incidents that became part of it"`
	Flapping bool           `json:"flapping,omitempty" doc:"it changes its state too often"`
	Latched  bool           `json:"latched,omitempty" doc:"it stays until its reset"`
	Covers   int            `json:"covers,omitempty" doc:"devices that fell silent with it"`

	Acknowledged *IncidentAcknowledged `json:"acknowledged,omitempty"`
	TakenBy      andon.PersonID        `json:"taken_by,omitempty"`
	Shelved      *IncidentShelved      `json:"shelved,omitempty"`
	OutOfService *IncidentRemoved      `json:"out_of_service,omitempty"`
	Maintenance  string                `json:"maintenance,omitempty" doc:"the window it is in"`
	Escalation   *IncidentEscalation   `json:"escalation,omitempty" doc:"how far its policy is"`

	Note  *IncidentStep  `json:"note,omitempty" doc:"the newest step in which a person wrote"`
	Steps []IncidentStep `json:"steps,omitempty" doc:"oldest first; not in lists"`
}

// IncidentAcknowledged says who has seen an incident. It counts until Expires, unless that is 0.
type IncidentAcknowledged struct {
	By      andon.PersonID `json:"by"`
	At      andon.Time     `json:"at"`
	Expires andon.Time     `json:"expires,omitempty"`
	Note    string         `json:"note,omitempty"`
}

// IncidentShelved says until when an incident is hidden: a time, or once, the return to normal.
type IncidentShelved struct {
	By     andon.PersonID `json:"by"`
	At     andon.Time     `json:"at"`
	Until  andon.Time     `json:"until,omitempty"`
	Once   bool           `json:"once,omitempty"`
	Reason string         `json:"reason"`
}

// IncidentRemoved says who took the device out of service.
type IncidentRemoved struct {
	By     andon.PersonID `json:"by"`
	At     andon.Time     `json:"at"`
	Reason string         `json:"reason,omitempty"`
}

// IncidentEscalation says how far the policy of an incident is.
type IncidentEscalation struct {
	Policy string     `json:"policy"`
	Step   int        `json:"step" doc:"the next one, counted through all rounds"`
	NextAt andon.Time `json:"next_at,omitempty" doc:"when; absent: none is left, or it is paused"`
}

// IncidentStep is a line of the log of an incident.
type IncidentStep struct {
	At        andon.Time     `json:"at"`
	EventTime andon.Time     `json:"event_time,omitempty"`
	What      string         `json:"what"`
	By        andon.PersonID `json:"by,omitempty" doc:"absent: Andon itself"`
	To        andon.PersonID `json:"to,omitempty"`
	Note      string         `json:"note,omitempty"`
}

// IncidentChanges says which open incidents have changed.
type IncidentChanges struct {
	Changes   uint64     `json:"changes"` // grows with each, until the server starts again
	Incidents []Incident `json:"incidents,omitempty"`
	More      bool       `json:"more,omitempty"` // too many for a message: list them again
}

// IncidentQuery selects incidents. The zero value selects all that are open.
type IncidentQuery struct {
	Query                    // without From and To those that are open; its Order does not count
	Selection                // of devices
	Device    string         `query:"device"`   // an id, or a prefix that ends in '*'
	Status    []string       `query:"status"`   // any of these
	Severity  uint8          `query:"severity"` // at least
	Age       andon.Duration `query:"age"`      // how long it has lasted at least
	Operator  andon.PersonID `query:"operator"` // "none": of devices without
	Kind      string         `query:"kind"`
	Flapping  *bool          `query:"flapping"` // only of a device that flaps now, or of others
	Sort      string         `query:"sort"`     // "severity" (the default), "since" or "opened"
}

// Incidents returns incidents: severest first, then longest, or, where From or To is set, those
// that opened then, newest first.
func (c *Client) Incidents(ctx context.Context, q IncidentQuery) iter.Seq2[Incident, error] {
	q.Order = andon.Desc
	return list[Incident](ctx, c, q, "incidents")
}

// IncidentCounts is how many incidents are open.
type IncidentCounts struct {
	Total      int                     `json:"total"`
	Statuses   map[string]int          `json:"statuses"`
	Severities []IncidentSeverityCount `json:"severities" doc:"severest first"`
}

// IncidentSeverityCount is how many open incidents have a severity.
type IncidentSeverityCount struct {
	Severity       uint8 `json:"severity"`
	Count          int   `json:"count"`
	Unacknowledged int   `json:"unacknowledged"`
}

// IncidentCounts counts those that are open. Of the query From, To, Sort and Page do not count.
func (c *Client) IncidentCounts(ctx context.Context, q IncidentQuery) (IncidentCounts, error) {
	q.Query, q.Sort = Query{State: q.State}, ""
	return ask[IncidentCounts](ctx, c, request{
		method: http.MethodGet, path: path("incidents", "counts"), query: parameters(q),
	})
}

// DeviceIncidents returns the incidents of a device, newest first. Of the query From, To and Page
// count.
func (c *Client) DeviceIncidents(
	ctx context.Context, id andon.DeviceID, q Query,
) iter.Seq2[Incident, error] {
	q = Query{From: q.From, To: q.To, Page: q.Page}
	return list[Incident](ctx, c, q, "devices", string(id), "incidents")
}

// Incident returns an incident with its steps.
func (c *Client) Incident(ctx context.Context, id string) (Incident, error) {
	return get[Incident](ctx, c, "incidents", id)
}

// IncidentAction is what somebody does about an incident. Which fields count depends on Do.
type IncidentAction struct {
	// Do is "acknowledge", "take", "comment", "escalate", "shelve", "unshelve", "out-of-service",
	// "in-service" or "reset".
	Do        string         `json:"-"`
	By        andon.PersonID `json:"by"`
	Note      string         `json:"note,omitempty"`
	ExpiresIn andon.Duration `json:"expires_in,omitempty"` // of acknowledge
	To        andon.PersonID `json:"to,omitempty"`         // of escalate
	Until     andon.Time     `json:"until,omitempty"`      // of shelve; or For; or Once
	For       andon.Duration `json:"for,omitempty"`
	Once      bool           `json:"once,omitempty"`
	Reason    string         `json:"reason,omitempty"` // of shelve and out-of-service
}

// Act does something about an incident and returns it as it is afterwards. What was done already is
// not done again. Where somebody else was first, the error is 409.
func (c *Client) Act(ctx context.Context, id string, a IncidentAction) (Incident, error) {
	return submit[Incident](ctx, c, http.MethodPost, a, "incidents", id, a.Do)
}
