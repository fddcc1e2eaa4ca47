package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/andonhq/andon"
)

// Result accounts for every entry of a request: what is accepted is durable, and what is not is
// rejected with its index.
type Result struct {
	Accepted int               `json:"accepted"`
	Rejected []andon.Rejection `json:"rejected"`

	// UnknownStates are the states of accepted events that are not in the tenant's set: misspelt,
	// it may be. A tenant can refuse them (Tenant.UnknownStates).
	UnknownStates []andon.State `json:"unknown_states,omitempty" doc:"accepted ones"`
}

// AppendEvents sends events. Sending one again does not double it, unless it has no time: then the
// server takes the time of arrival. So a request with such an event is not repeated when its answer
// is lost.
func (c *Client) AppendEvents(ctx context.Context, events []andon.Event) (Result, error) {
	once := slices.ContainsFunc(events, func(e andon.Event) bool { return e.Time == 0 })
	return appendAll(ctx, c, path("events"), events, once)
}

// AppendReadings sends readings, as AppendEvents does events.
func (c *Client) AppendReadings(ctx context.Context, readings []andon.Reading) (Result, error) {
	once := slices.ContainsFunc(readings, func(r andon.Reading) bool { return r.Time == 0 })
	return appendAll(ctx, c, path("readings"), readings, once)
}

func appendAll[T any](
	ctx context.Context, c *Client, path string, entries []T, once bool,
) (Result, error) {
	var body bytes.Buffer
	lines := json.NewEncoder(&body)
	lines.SetEscapeHTML(false) // attributes are kept as they are written
	for i := range entries {
		if err := lines.Encode(&entries[i]); err != nil {
			return Result{}, fmt.Errorf("encode entry %d: %w", i, err)
		}
	}
	return ask[Result](ctx, c, request{
		method: http.MethodPost, path: path, form: ndjsonForm, body: body.Bytes(), once: once,
	})
}
