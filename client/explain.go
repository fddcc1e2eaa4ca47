package client

import (
	"context"
	"errors"

	"github.com/andonhq/andon"
)

// Explain returns what the server's store sends to its engine for a query: the first that ask
// asks of the client that it is called with. The query is run and its answer thrown away: ask
// gets an error in its place, which it must return. Only what reads can be explained. An Error of
// status 501 where the store can't say.
//
//	steps, err := c.Explain(ctx, func(c *client.Client) error {
//		_, err := c.Device(ctx, "press-7")
//		return err
//	})
func (c *Client) Explain(
	ctx context.Context, ask func(*Client) error,
) (steps []andon.PlanStep, err error) {
	explaining := *c
	explaining.plan = &plan{}
	err = ask(&explaining)
	switch {
	case errors.Is(err, errExplained):
		return explaining.plan.Statements, nil
	case err != nil:
		return nil, err
	}
	return nil, errors.New("nothing was asked that could be explained")
}

// errExplained takes the place of an answer that was thrown away.
var errExplained = errors.New("the query was explained, not answered")

// plan is what a server answers to a query that is explained.
type plan struct {
	Statements []andon.PlanStep `json:"statements"`
}

// explained returns a request as it is when it is explained, and where its answer goes.
func (c *Client) explained(r request) (request, any, error) {
	if !r.reads() {
		return r, nil, errors.New("what writes, or asks about the server itself, has no plan")
	}
	return r.with("explain", "true"), c.plan, nil
}
