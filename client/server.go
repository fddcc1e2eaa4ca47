package client

import (
	"bufio"
	"context"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon"
)

// Version says which build of the program answers, and on which store.
type Version struct {
	Version  string `json:"version" doc:"Release, or the version of the module"`
	Revision string `json:"revision,omitempty" doc:"Commit that it was built from"`
	Time     string `json:"time,omitempty" doc:"Time of that commit"`
	Go       string `json:"go,omitempty" doc:"Version of Go that it was built with"`
	Store    string `json:"store,omitempty" doc:"The store with the version of its engine"`
}

// Version returns which build answers. The request is sent once.
func (c *Client) Version(ctx context.Context) (Version, error) {
	return ask[Version](ctx, c, request{
		method: http.MethodGet, path: path("version"), plain: true,
	})
}

// Rejections returns what a source could not keep, of all sources where that is "", newest first.
// State and Order of the query do not count.
func (c *Client) Rejections(
	ctx context.Context, source string, q Query,
) iter.Seq2[andon.SourceRejection, error] {
	return list[andon.SourceRejection](ctx, c, struct {
		Query
		Source string `query:"source"`
	}{Query{From: q.From, To: q.To, Page: q.Page}, source}, "rejections")
}

// Ready returns nil while the server can serve, and else why it can't: an Error of status 503 while
// its store is not ready or it is stopping. The request is sent once.
func (c *Client) Ready(ctx context.Context) error {
	return c.do(ctx, request{method: http.MethodGet, path: path("readyz"), plain: true}, nil)
}

// ServerMetrics returns the metrics of the server that have no labels, by their names at /metrics,
// and its time: zero where the answer has none. The request is sent once.
func (c *Client) ServerMetrics(
	ctx context.Context,
) (values map[string]float64, at time.Time, err error) {
	answer, err := c.open(ctx, request{
		method: http.MethodGet, path: path("metrics"), plain: true, accept: "text/plain",
	})
	if err != nil {
		return nil, at, err
	}
	defer answer.Body.Close()
	if at, err = http.ParseTime(answer.Header.Get("Date")); err != nil {
		at = time.Time{} // a proxy may have removed it
	}
	values = map[string]float64{}
	lines := bufio.NewScanner(io.LimitReader(answer.Body, maxAnswer))
	for lines.Scan() { // the text format of Prometheus
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = v
		}
	}
	return values, at, lines.Err()
}

// Backup returns a backup of the whole store, all tenants, as it is at one moment: a tar, whose
// last member has the sums of the others. The caller reads it to its end and closes it. The request
// is sent once.
func (c *Client) Backup(ctx context.Context) (io.ReadCloser, error) {
	answer, err := c.open(ctx, request{
		method: http.MethodPost, path: path("backup"), accept: "application/x-tar",
	})
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

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
	answer, err := ask[page[Swept]](ctx, c, request{
		method: http.MethodPost, path: path("sweep"), readOnly: dryRun,
	}.with("dry_run", dryRun))
	return answer.Items, err
}

// ForTenant returns a client of the same server for another tenant.
func (c *Client) ForTenant(id andon.TenantID) *Client {
	other := *c
	other.options.Tenant = id
	return &other
}
