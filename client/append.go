package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/andonhq/andon"
)

// Result accounts for every entry of a request: what is accepted is durable, and what is not is
// rejected with its index.
type Result struct {
	Accepted int               `json:"accepted"`
	Rejected []andon.Rejection `json:"rejected"`

	// Of the accepted ones, how many there were not before, how many said the same before, and how
	// many said something else. 0 unless the client is one of WithOutcomes.
	New       int `json:"new,omitempty" doc:"with outcomes=true"`
	Unchanged int `json:"unchanged,omitempty" doc:"with outcomes=true"`
	Replaced  int `json:"replaced,omitempty" doc:"with outcomes=true"`

	// UnknownStates are the states of accepted events that are not in the tenant's set: misspelt,
	// it may be. A tenant can refuse them (Tenant.UnknownStates).
	UnknownStates []andon.State `json:"unknown_states,omitempty" doc:"accepted ones"`
}

// WithOutcomes returns a client of the same server whose results also say which of the accepted
// events and readings are new. The server reads before it writes, so appending takes longer.
func (c *Client) WithOutcomes() *Client {
	counting := *c
	counting.outcomes = true
	return &counting
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
	var query url.Values
	if c.outcomes {
		query = url.Values{"outcomes": {"true"}}
	}
	return ask[Result](ctx, c, request{
		method: http.MethodPost, path: path, query: query,
		form: ndjsonForm, body: body.Bytes(), once: once,
	})
}
