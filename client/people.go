package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"

	"github.com/andonhq/andon"
)

// Assignments returns who was assigned to a device; of the query only Order counts.
func (c *Client) Assignments(
	ctx context.Context, id andon.DeviceID, q Query,
) iter.Seq2[andon.Assignment, error] {
	q = Query{Order: q.Order, Page: q.Page}
	return list[andon.Assignment](ctx, c, q, "devices", string(id), "assignments")
}

// Assign assigns an operator to a device from now on; nobody where the operator is absent. It
// returns the assignment as it was kept: it takes effect at the later of now and just after the
// device's newest entry; the operator who was assigned last is not assigned again. The device need
// not have been seen.
func (c *Client) Assign(
	ctx context.Context, id andon.DeviceID, operator andon.PersonID,
) (andon.Assignment, error) {
	change := map[string]*andon.PersonID{"operator": operator.OrNull()}
	return submit[andon.Assignment](
		ctx, c, http.MethodPut, change, "devices", string(id), "operator")
}

// AssignMany assigns operators to many devices from now on, at most andon.MaxRequestEntries. What
// is right of it takes effect together; From and To do not count.
func (c *Client) AssignMany(
	ctx context.Context, assignments []andon.Assignment,
) (Result, error) {
	sent := make([]andon.Assignment, len(assignments))
	for i, a := range assignments {
		sent[i] = andon.Assignment{Device: a.Device, Operator: a.Operator}
	}
	return appendAll(ctx, c, path("assignments"), sent, false)
}

// Record is an escalation of an entry: to whom, when and by whom.
type Record struct {
	To   andon.PersonID `json:"to" nullable:"true" doc:"null: withdrawn"`
	At   andon.Time     `json:"at,omitempty" doc:"absent where it never was escalated"`
	By   andon.PersonID `json:"by,omitempty"`
	Note string         `json:"note,omitempty"`
}

// MarshalJSON writes the record as the server does: withdrawn is null.
func (r Record) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		To   *andon.PersonID `json:"to"`
		At   andon.Time      `json:"at,omitempty"`
		By   andon.PersonID  `json:"by,omitempty"`
		Note string          `json:"note,omitempty"`
	}{r.To.OrNull(), r.At, r.By, r.Note})
}

// Escalate escalates an entry of a device to a supervisor, or withdraws where To is absent. Without
// Time and State the entry is the one that the device shows now. At is the server's to say. It
// returns the record as it was kept; where nothing was added, the one that says so already, with
// At 0 where the entry was never escalated.
func (c *Client) Escalate(
	ctx context.Context, e andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	var status int
	kept, err = ask[andon.Escalation](ctx, c, request{
		method: http.MethodPost, path: path("devices", string(e.Device), "escalations"),
		status: &status,
		value: struct {
			To    *andon.PersonID `json:"to"`
			By    andon.PersonID  `json:"by,omitempty"`
			Note  string          `json:"note,omitempty"`
			Time  andon.Time      `json:"time,omitempty"`
			State andon.State     `json:"state,omitempty"`
		}{e.To.OrNull(), e.By, e.Note, e.Time, e.State},
	})
	return kept, status == http.StatusCreated, err
}

// Name is an operator, a supervisor or a metric that occurs.
type Name struct {
	Name string `json:"name"`
	// Devices is how many devices it has now; nil where the server's store does not count them.
	Devices *int `json:"devices,omitempty" doc:"absent where the store does not count them"`
}

// Operators returns the operators that occur, by bytes.
func (c *Client) Operators(ctx context.Context) iter.Seq2[Name, error] {
	return list[Name](ctx, c, Query{}, "operators")
}

// Supervisors returns the supervisors that occur, by bytes.
func (c *Client) Supervisors(ctx context.Context) iter.Seq2[Name, error] {
	return list[Name](ctx, c, Query{}, "supervisors")
}

// Metrics returns the metrics that occur, by bytes.
func (c *Client) Metrics(ctx context.Context) iter.Seq2[Name, error] {
	return list[Name](ctx, c, Query{}, "metrics")
}

// Escalations returns the entries of a device that were ever escalated, with all their records.
func (c *Client) Escalations(
	ctx context.Context, id andon.DeviceID, q Query,
) iter.Seq2[Entry, error] {
	return list[Entry](ctx, c, q, "devices", string(id), "escalations")
}

// Retirements returns when a device was retired, each time, oldest first.
func (c *Client) Retirements(ctx context.Context, id andon.DeviceID) ([]andon.Time, error) {
	answer, err := get[page[andon.Time]](ctx, c, "devices", string(id), "retirements")
	return answer.Items, err
}

// Restore takes a history back as it was. Doing it again changes nothing. The rejected are counted
// through assignments, escalations and retirements, in that order.
func (c *Client) Restore(ctx context.Context, h andon.History) (Result, error) {
	h.Assignments = slices.Clone(h.Assignments)
	for i := range h.Assignments {
		h.Assignments[i].To = 0
	}
	return submit[Result](ctx, c, http.MethodPost, h, "restore")
}
