package client

import (
	"context"
	"net/http"
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

// Ready returns nil while the server can serve, and else why it can't: an Error of status 503 while
// its store is not ready or it is stopping. The request is sent once.
func (c *Client) Ready(ctx context.Context) error {
	return c.do(ctx, request{method: http.MethodGet, path: path("readyz"), plain: true}, nil)
}
