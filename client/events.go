package client

import (
	"cmp"
	"context"
	"iter"
	"net/http"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// DeviceEvents returns the entries of a device.
func (c *Client) DeviceEvents(
	ctx context.Context, id andon.DeviceID, q Query,
) iter.Seq2[andon.Event, error] {
	return list[andon.Event](ctx, c, q, "devices", string(id), "events")
}

// Events returns the entries of all devices; an Error of status 501 where the store of the server
// can't list them.
func (c *Client) Events(ctx context.Context, q Query) iter.Seq2[andon.Event, error] {
	return list[andon.Event](ctx, c, q, "events")
}

// OperatorEvents returns the entries of an operator, of all devices.
func (c *Client) OperatorEvents(
	ctx context.Context, operator andon.PersonID, q Query,
) iter.Seq2[andon.Event, error] {
	return list[andon.Event](ctx, c, q, "operators", string(operator), "events")
}

// SupervisorEvents returns the entries that are escalated to a supervisor, of all devices.
func (c *Client) SupervisorEvents(
	ctx context.Context, supervisor andon.PersonID, q Query,
) iter.Seq2[andon.Event, error] {
	return list[andon.Event](ctx, c, q, "supervisors", string(supervisor), "events")
}

// Entry is one log entry with its escalation records, newest first; the newest counts.
type Entry struct {
	andon.Event
	Escalations []Record    `json:"escalations" doc:"newest first; the newest counts"`
	Withdrawn   *Withdrawal `json:"withdrawn,omitempty" doc:"only of one that was withdrawn"`
}

// Withdrawal is the record that an entry was withdrawn.
type Withdrawal struct {
	At   andon.Time     `json:"at"`
	By   andon.PersonID `json:"by,omitempty"`
	Note string         `json:"note,omitempty"`
}

// Withdraw withdraws an entry that was wrong: no answer but that of the entry itself shows it from
// then on. It returns the entry. Withdrawn again it keeps the record that it has.
func (c *Client) Withdraw(
	ctx context.Context, id andon.DeviceID, at andon.Time, state andon.State, w Withdrawal,
) (Entry, error) {
	return ask[Entry](ctx, c, request{
		method: http.MethodDelete,
		path:   path("devices", string(id), "events", at.String(), string(state)),
		value: struct {
			By   andon.PersonID `json:"by,omitempty"`
			Note string         `json:"note,omitempty"`
		}{w.By, w.Note},
	})
}

// Entry returns one entry; an Error of status 404 when it is not there.
func (c *Client) Entry(
	ctx context.Context, id andon.DeviceID, at andon.Time, state andon.State,
) (Entry, error) {
	return get[Entry](ctx, c, "devices", string(id), "events", at.String(), string(state))
}

// Where EventsSince begins, other than after a position.
const (
	Oldest = "oldest" // all that is kept in the order of its arrival
	Newest = "newest" // what arrives from now on
)

// EventsSince returns what arrived after a position and is there now, late entries too, in the
// order of arrival: after is a position as text, Oldest or Newest. A position is that of an item,
// of an Update, or of a snapshot of the fleet. It calls reached with the position after each page
// once its items are read, also if there are none: a caller that goes on from there misses nothing.
// The order of the query does not count. An Error of status 410 where the server does not keep what
// came after the position any more, and of status 501 where its store keeps no such order.
func (c *Client) EventsSince(
	ctx context.Context, after string, q Query, reached func(andon.Position),
) iter.Seq2[andon.Arrival, error] {
	q.Order, q.Page = andon.Desc, cmp.Or(q.Page, andon.MaxLimit)
	return seq.Of(func(yield func(andon.Arrival) bool) error {
		values := parameters(q)
		values.Set("after", after)
		for more := true; more; {
			answer, err := ask[struct {
				page[andon.Arrival]
				Position andon.Position `json:"position"`
			}](ctx, c, request{method: http.MethodGet, path: path("events"), query: values})
			if err != nil || !answer.each(yield) {
				return err
			}
			reached(answer.Position)
			more = answer.Next != ""
			values.Set("after", answer.Position.String())
		}
		return nil
	})
}
