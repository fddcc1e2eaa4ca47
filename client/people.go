package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/andonhq/andon"
)

// Assignment says who was assigned to a device, and when.
type Assignment struct {
	Device   andon.DeviceID `json:"device"`
	Operator andon.PersonID `json:"operator" nullable:"true" doc:"null: nobody"`
	From     andon.Time     `json:"from"`
	To       andon.Time     `json:"to,omitempty" doc:"when the next began; absent for the newest"`
}

// MarshalJSON writes the assignment as the server does: nobody is null.
func (a Assignment) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Device   andon.DeviceID  `json:"device"`
		Operator *andon.PersonID `json:"operator"`
		From     andon.Time      `json:"from,omitempty"`
		To       andon.Time      `json:"to,omitempty"`
	}{a.Device, orNull(a.Operator), a.From, a.To})
}

// orNull returns a person as JSON has it where nobody is null.
func orNull(p andon.PersonID) *andon.PersonID {
	if p == "" {
		return nil
	}
	return &p
}

// Assignments returns who was assigned to a device; of the query only Order counts.
func (c *Client) Assignments(
	ctx context.Context, id andon.DeviceID, q Query,
) iter.Seq2[Assignment, error] {
	q = Query{Order: q.Order, Page: q.Page}
	return list[Assignment](ctx, c, q, "devices", string(id), "assignments")
}

// Assign assigns an operator to a device from now on; nobody where the operator is absent. It
// returns the assignment as it was kept: it takes effect at the later of now and just after the
// device's newest entry; the operator who was assigned last is not assigned again. The device need
// not have been seen.
func (c *Client) Assign(
	ctx context.Context, id andon.DeviceID, operator andon.PersonID,
) (Assignment, error) {
	change := map[string]*andon.PersonID{"operator": orNull(operator)}
	return submit[Assignment](ctx, c, http.MethodPut, change, "devices", string(id), "operator")
}

// AssignMany assigns operators to many devices from now on, at most andon.MaxRequestEntries. What
// is right of it takes effect together; From and To do not count.
func (c *Client) AssignMany(ctx context.Context, assignments []Assignment) (Result, error) {
	sent := make([]Assignment, len(assignments))
	for i, a := range assignments {
		sent[i] = Assignment{Device: a.Device, Operator: a.Operator}
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

type recordJSON struct {
	To   *andon.PersonID `json:"to"`
	At   andon.Time      `json:"at,omitempty"`
	By   andon.PersonID  `json:"by,omitempty"`
	Note string          `json:"note,omitempty"`
}

func (r Record) json() recordJSON { return recordJSON{orNull(r.To), r.At, r.By, r.Note} }

// MarshalJSON writes the record as the server does: withdrawn is null.
func (r Record) MarshalJSON() ([]byte, error) { return json.Marshal(r.json()) }

// Escalation is an escalation record with its entry.
type Escalation struct {
	Device andon.DeviceID `json:"device"`
	Time   andon.Time     `json:"time"`
	State  andon.State    `json:"state"`
	Record
	// Again says, in the answer of Escalate, that it was so already and nothing was recorded.
	Again bool `json:"-"`
}

// MarshalJSON writes the escalation as the server does.
func (e Escalation) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Device andon.DeviceID `json:"device"`
		Time   andon.Time     `json:"time"`
		State  andon.State    `json:"state"`
		recordJSON
	}{e.Device, e.Time, e.State, e.Record.json()})
}

// Escalate escalates an entry of a device to a supervisor, or withdraws where To is absent. Without
// Time and State the entry is the one that the device shows now. At is the server's to say. It
// returns the record as it was kept, or the one that says so already, with At 0 where the entry was
// never escalated.
func (c *Client) Escalate(ctx context.Context, e Escalation) (Escalation, error) {
	var status int
	kept, err := ask[Escalation](ctx, c, request{
		method: http.MethodPost, path: path("devices", string(e.Device), "escalations"),
		status: &status,
		value: struct {
			To    *andon.PersonID `json:"to"`
			By    andon.PersonID  `json:"by,omitempty"`
			Note  string          `json:"note,omitempty"`
			Time  andon.Time      `json:"time,omitempty"`
			State andon.State     `json:"state,omitempty"`
		}{orNull(e.To), e.By, e.Note, e.Time, e.State},
	})
	kept.Again = status == http.StatusOK
	return kept, err
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

// History is what people did, with its times, to be taken back.
type History struct {
	Assignments []Assignment `json:"assignments,omitempty"` // To does not count
	Escalations []Escalation `json:"escalations,omitempty"` // after their entries
	Retired     []Retirement `json:"retired,omitempty"`     // before the entries
}

// Retirement says when a device was retired.
type Retirement struct {
	Device  andon.DeviceID `json:"device"`
	Retired andon.Time     `json:"retired"`
}

// Restore takes a history back as it was. Doing it again changes nothing. The rejected are counted
// through assignments, escalations and retirements, in that order.
func (c *Client) Restore(ctx context.Context, h History) (Result, error) {
	sent := make([]Assignment, len(h.Assignments))
	for i, a := range h.Assignments {
		sent[i] = Assignment{Device: a.Device, Operator: a.Operator, From: a.From}
	}
	h.Assignments = sent
	return submit[Result](ctx, c, http.MethodPost, h, "restore")
}
