package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/andonhq/andon"
)

// Name is an operator, a supervisor or a metric that occurs.
type Name struct {
	Name string `json:"name"`
	// Devices is how many devices it has now; nil where the server's store does not count them.
	Devices *int `json:"devices,omitempty" doc:"absent where the store does not count them"`
}

// Operators returns the operators that occur, by bytes.
func (c *Client) Operators(ctx context.Context) iter.Seq2[Name, error] {
	return list[Name](ctx, c, path("operators"), Query{}.values())
}

// Supervisors returns the supervisors that occur, by bytes.
func (c *Client) Supervisors(ctx context.Context) iter.Seq2[Name, error] {
	return list[Name](ctx, c, path("supervisors"), Query{}.values())
}

// Metrics returns the metrics that occur, by bytes.
func (c *Client) Metrics(ctx context.Context) iter.Seq2[Name, error] {
	return list[Name](ctx, c, path("metrics"), Query{}.values())
}

// Escalations returns the entries of a device that were ever escalated, with all their records.
func (c *Client) Escalations(
	ctx context.Context, id andon.DeviceID, q Query,
) iter.Seq2[Entry, error] {
	return list[Entry](ctx, c, path("devices", string(id), "escalations"), q.values())
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
	return ask[Result](ctx, c, request{
		method: http.MethodPost, path: path("restore"), value: h,
	})
}
