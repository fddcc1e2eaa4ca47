// Package client is the Go client of Andon's HTTP API: typed, context-aware, and it retries while a
// server is busy. Lists are iterators that follow cursors.
//
// It uses the domain's types and knows nothing of how a server keeps them.
package client

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/andonhq/andon"
)

// Options are what a Client is made with. Only URL must be given.
type Options struct {
	URL    string         // of the server: "http://127.0.0.1:8080"; "/api/v1" may follow
	Tenant andon.TenantID // default unless set
	Token  string         // sent as a bearer token where it is set

	// HTTP is the client to send with; one of its own unless set.
	HTTP *http.Client
	// Compress returns a zstd frame of what is to be sent, which is sent in place of it; nil:
	// nothing is compressed.
	Compress func(plain []byte) []byte
	// Consistency is how fresh answers must be: andon.Strong or andon.Eventual; unless set it is
	// the server's to choose. Of many calls, At gives a client for some.
	Consistency andon.Consistency
	// Attempts is how often a request is sent at most, while the server answers that it is busy
	// (429) or unavailable (503) or does not answer; 8 unless set, which is about 25 seconds.
	Attempts int
	// Pause is how long the first pause between two attempts is, where the server does not say;
	// each one after is twice as long. 200 ms unless set.
	Pause time.Duration
}

// Client sends requests to one server for one tenant. It may be used concurrently.
type Client struct {
	base    *url.URL
	options Options
	plan    *plan // where queries are explained and not answered
}

// New makes a Client. It sends nothing.
func New(o Options) (*Client, error) {
	address := strings.TrimSuffix(strings.TrimSuffix(o.URL, "/"), "/api/v1")
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.User != nil ||
		base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("the URL of the server is not of the form http://127.0.0.1:8080")
	}
	o.Tenant = cmp.Or(o.Tenant, andon.DefaultTenant)
	if err := o.Tenant.Validate(); err != nil {
		return nil, fmt.Errorf("check tenant: %w", err)
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	o.Attempts = cmp.Or(o.Attempts, 8)
	o.Pause = cmp.Or(o.Pause, 200*time.Millisecond)
	return &Client{base: base, options: o}, nil
}

// Close lets go of idle connections.
func (c *Client) Close() { c.options.HTTP.CloseIdleConnections() }

// WithConsistency returns a client of the same server, and of the same connections, that asks for
// answers which are so fresh.
func (c *Client) WithConsistency(freshness andon.Consistency) *Client {
	as := *c
	as.options.Consistency = freshness
	return &as
}

// path joins the elements, each percent-encoded: an id may hold '#', '/' and '%'.
func path(elements ...string) string {
	var b strings.Builder
	for _, e := range elements {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(e))
	}
	return b.String()
}
