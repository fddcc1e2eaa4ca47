package client

import (
	"context"
	"errors"

	"github.com/andonhq/andon"
)

// plan is what a server answers to a query that is explained.
type plan struct {
	Statements []andon.PlanStep `json:"statements"`
}

// Explain returns what the server's store sends to its engine for the query that ask sends to the
// client that it is called with. The query is run and its answer thrown away: ask gets an empty
// one, so its error counts only if nothing was explained. Only what reads can be explained. An
// Error of status 501 where the store can't say.
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
	if steps = explaining.plan.Statements; steps != nil {
		return steps, nil
	}
	if err == nil {
		err = errors.New("nothing was asked that could be explained")
	}
	return nil, err
}
