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
	req, err := c.build(ctx, request{method: http.MethodPost, path: path("backup")})
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/x-tar")
	answer, err := c.options.HTTP.Do(req)
	if err != nil {
		return nil, reach(err)
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		return nil, errorOf(answer)
	}
	return answer.Body, nil
}
