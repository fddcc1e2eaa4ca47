package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/andonhq/andon"
)

// Swept says what went of a tenant, or would: all that is older than a time. 0: nothing.
type Swept struct {
	Tenant   andon.TenantID `json:"tenant"`
	Events   andon.Time     `json:"events_before,omitzero" doc:"absent: none of them"`
	Readings andon.Time     `json:"readings_before,omitzero" doc:"absent: none of them"`
	Deleted  int            `json:"deleted,omitzero" doc:"items, on a store that counts them"`
}

// Sweep gives back the space of what has expired, in all tenants, and returns those of which
// something went. dryRun only says what would go.
func (c *Client) Sweep(ctx context.Context, dryRun bool) ([]Swept, error) {
	var query url.Values
	if dryRun {
		query = url.Values{"dry_run": {"true"}}
	}
	answer, err := ask[page[Swept]](ctx, c, request{
		method: http.MethodPost, path: path("sweep"), query: query, readOnly: dryRun,
	})
	return answer.Items, err
}

// ForTenant returns a client of the same server for another tenant.
func (c *Client) ForTenant(id andon.TenantID) *Client {
	other := *c
	other.options.Tenant = id
	return &other
}
