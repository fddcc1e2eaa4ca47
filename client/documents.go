package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/andonhq/andon"
)

// Document is what people write: who is told of what, when, and by whom devices are looked after.
type Document struct {
	Kind    string     `json:"kind" doc:"policy, schedule, rule, person or maintenance"`
	Name    string     `json:"name"`
	Content andon.JSON `json:"content" doc:"as the path of its kind takes it"`
}

// DocumentsSent are documents that are applied together. They may refer to each other, in any
// order. A schedule without a field overrides keeps those that are stored.
type DocumentsSent struct {
	Documents []Document `json:"documents"`
}

// DocumentsApplied says what became of documents, in the order in which they were sent.
type DocumentsApplied struct {
	Documents []DocumentApplied `json:"documents"`
}

// DocumentApplied says what became of a document.
type DocumentApplied struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Change string `json:"change" doc:"created, changed or unchanged"`
}

// Documents returns all documents: people, then schedules, policies, windows of
// maintenance and rules.
func (c *Client) Documents(ctx context.Context) iter.Seq2[Document, error] {
	return list[Document](ctx, c, Query{}, "documents")
}

// Apply makes or changes documents: all, or none where one is wrong. A dry run changes nothing.
// What is wrong is an Error whose fields begin with "body.documents[2]".
func (c *Client) Apply(
	ctx context.Context, all []Document, dry bool,
) ([]DocumentApplied, error) {
	answer, err := ask[DocumentsApplied](ctx, c, request{
		method: http.MethodPost, path: path("documents"), value: DocumentsSent{all},
	}.with("dry_run", dry))
	return answer.Documents, err
}

// Shift is a span of time in which one person is on call, or nobody. From is part of it, To is not.
type Shift struct {
	From   andon.Time     `json:"from"`
	To     andon.Time     `json:"to,omitempty" doc:"absent: it does not end within a year"`
	Person andon.PersonID `json:"person,omitempty"`
	Layer  int            `json:"layer,omitempty" doc:"from 1 on; absent: an override, or nobody"`
	Gap    bool           `json:"gap,omitempty" doc:"the first layer has nobody"`
	Reason string         `json:"reason,omitempty" doc:"of an override"`
}

// OnCall returns who is on call by a schedule at a time; 0: now.
func (c *Client) OnCall(ctx context.Context, schedule string, at andon.Time) (Shift, error) {
	return ask[Shift](ctx, c, request{
		method: http.MethodGet, path: path("schedules", schedule, "on-call"),
	}.with("at", at))
}

// CalendarLink is the signed address of a calendar.
type CalendarLink struct {
	URL string `json:"url"`
}

// CalendarLink returns the address at which whoever has it can read the calendar of a schedule,
// without a token, for as long as the schedule exists. It is a path of the server where that does
// not know its own address (notify.url).
func (c *Client) CalendarLink(ctx context.Context, schedule string) (string, error) {
	is, err := get[CalendarLink](ctx, c, "schedules", schedule, "calendar")
	return is.URL, err
}

// Override puts a person on call for a time, whatever the layers of a schedule say.
type Override struct {
	From   andon.Time     `json:"from"`
	To     andon.Time     `json:"to"`
	Person andon.PersonID `json:"person"`
	Reason string         `json:"reason,omitempty"`
}

// Override adds an override to a schedule. Sent again it is there once.
func (c *Client) Override(ctx context.Context, schedule string, o Override) error {
	return c.do(ctx, request{
		method: http.MethodPost, path: path("schedules", schedule, "overrides"), value: o,
	}, nil)
}

// RemoveOverrides removes the overrides of a person from a schedule: those that are about a time,
// or, where that is 0, all that have not ended.
func (c *Client) RemoveOverrides(
	ctx context.Context, schedule string, person andon.PersonID, at andon.Time,
) error {
	return c.do(ctx, request{
		method: http.MethodDelete, once: true,
		path: path("schedules", schedule, "overrides", string(person)),
	}.with("at", at), nil)
}

// PolicyTrial is an incident that is made up to see what a policy does about it.
type PolicyTrial struct {
	At       andon.Time     `json:"at,omitempty" doc:"when it opens; now unless set"`
	Severity uint8          `json:"severity,omitempty" doc:"that of the state unless set"`
	Group    andon.Group    `json:"group,omitempty"`
	Device   andon.DeviceID `json:"device,omitempty"`
	State    andon.State    `json:"state,omitempty"`
	Kind     string         `json:"kind,omitempty" doc:"state unless set"`
	Operator andon.PersonID `json:"operator,omitempty" doc:"who is assigned to the device"`
}

// PolicyTimeline is what a policy would do if nobody did anything.
type PolicyTimeline struct {
	Policy string `json:"policy"`
	// Followed is the policy that would be followed, of all that there are.
	Followed string         `json:"followed,omitempty" doc:"absent: no policy matches"`
	Steps    []IncidentStep `json:"steps"`
	More     bool           `json:"more,omitempty" doc:"there are more steps than are shown"`
}

// TestPolicy returns what a policy would do about an incident. Nothing is done.
func (c *Client) TestPolicy(
	ctx context.Context, policy string, t PolicyTrial,
) (PolicyTimeline, error) {
	return submit[PolicyTimeline](ctx, c, http.MethodPost, t, "policies", policy, "test")
}

// RuleTrial is a rule that is tried on stored readings.
type RuleTrial struct {
	Rule andon.JSON `json:"rule" doc:"as PUT of a rule takes it"`
	From andon.Time `json:"from,omitempty" doc:"a day before to unless set"`
	To   andon.Time `json:"to,omitempty" doc:"now unless set"`
}

// RuleTimeline is what a rule would have said. Items are by device, the oldest first.
type RuleTimeline struct {
	From     andon.Time `json:"from"`
	To       andon.Time `json:"to"`
	Devices  int        `json:"devices" doc:"that it fits, with readings"`
	Readings int        `json:"readings"`
	Items    []RuleSaid `json:"items"`
	More     bool       `json:"more,omitempty" doc:"there are more items than are shown"`
	Failures int        `json:"failures,omitempty" doc:"readings that could not be evaluated"`
	Error    string     `json:"error,omitempty" doc:"of the last failure"`
}

// RuleSaid is what a rule would have said of a device.
type RuleSaid struct {
	Device  andon.DeviceID `json:"device"`
	Time    andon.Time     `json:"time"`
	What    string         `json:"what" doc:"raised or cleared"`
	State   andon.State    `json:"state"`
	Message string         `json:"message,omitempty"`
}

// TestRule returns what a rule would have said by stored readings. Nothing is stored.
func (c *Client) TestRule(ctx context.Context, t RuleTrial) (RuleTimeline, error) {
	return submit[RuleTimeline](ctx, c, http.MethodPost, t, "rules", "test")
}
