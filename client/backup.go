package client

import (
	"context"
	"io"
	"net/http"
)

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
