package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/andonhq/andon"
)

// DeviceEvents returns the entries of a device.
func (c *Client) DeviceEvents(
	ctx context.Context, id andon.DeviceID, q Query,
) iter.Seq2[andon.Event, error] {
	return list[andon.Event](ctx, c, path("devices", string(id), "events"), q.values())
}

// OperatorEvents returns the entries of an operator, of all devices.
func (c *Client) OperatorEvents(
	ctx context.Context, operator andon.PersonID, q Query,
) iter.Seq2[andon.Event, error] {
	return list[andon.Event](ctx, c, path("operators", string(operator), "events"), q.values())
}

// SupervisorEvents returns the entries that are escalated to a supervisor, of all devices.
func (c *Client) SupervisorEvents(
	ctx context.Context, supervisor andon.PersonID, q Query,
) iter.Seq2[andon.Event, error] {
	return list[andon.Event](ctx, c, path("supervisors", string(supervisor), "events"), q.values())
}

// Entry is one log entry with its escalation records, newest first; the newest counts.
type Entry struct {
	andon.Event
	Escalations []Record `json:"escalations"`
}

// Entry returns one entry; an Error of status 404 when it is not there.
func (c *Client) Entry(
	ctx context.Context, id andon.DeviceID, at andon.Time, state andon.State,
) (Entry, error) {
	var e Entry
	p := path("devices", string(id), "events", at.String(), string(state))
	err := c.do(ctx, request{method: http.MethodGet, path: p}, &e)
	return e, err
}
