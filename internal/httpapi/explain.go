package httpapi

import (
	"net/http"

	"github.com/andonhq/andon"
)

// A query may ask for what the store sends to its engine, in place of the answer. The query is run
// all the same, so that its figures are true.

var explainParam = param{
	Name: "explain", Example: "true", Values: []string{"true", "false"}, Initial: "false",
}

// planJSON is what a store sent to its engine, in the order of first use. It has no schema in the
// document: there every answer has one type, on which programs that are generated rely.
type planJSON struct {
	Statements []andon.PlanStep `json:"statements"`
}

// isExplained reports whether a route can be asked for its plan: whatever reads from the store, and
// nothing else.
func (r *route) isExplained() bool {
	return !r.long && !r.outside && !r.open && (r.method() == http.MethodGet || r.readOnly)
}

// explainable gives the routes that read the parameter, and what it may answer.
func explainable(routes []*route) []*route {
	for _, r := range routes {
		if r.isExplained() {
			r.query = append(r.query[:len(r.query):len(r.query)], consistencyParam, explainParam)
			r.errors = append(r.errors[:len(r.errors):len(r.errors)], http.StatusNotImplemented)
		}
	}
	return routes
}

func (c *call) serve() error {
	// The handler of a list finds what else is wrong first.
	if to := c.route.answer; to == nil || !to.List {
		if err := c.Fault(); err != nil {
			return err
		}
	}
	if err := c.consistent(); err != nil {
		return err
	}
	if !c.Flag(explainParam.Name) || !c.route.isExplained() {
		return c.route.serve(c)
	}
	steps, err := c.explain()
	if err != nil {
		return err
	}
	c.x.Answers = len(steps)
	return c.answer(&planJSON{Statements: append([]andon.PlanStep{}, steps...)})
}

// explain runs the call and returns what the store sent to its engine. The answer goes nowhere; an
// error is returned as it is.
func (c *call) explain() ([]andon.PlanStep, error) {
	can := c.store.Capabilities()
	if !can.Explain {
		return nil, andon.Errorf(andon.Unsupported,
			"this store (%s) can't say what it asks of its engine: there is no explain", can.Name)
	}
	ctx, plan := andon.WithPlan(c.ctx())
	inner := *c
	inner.context = ctx
	to := &nowhere{instead: c.x, header: http.Header{}}
	inner.x = newExchange(to, c.x.ID, c.x.Begun)
	err := c.route.serve(&inner)
	c.undo, c.work, c.taken = inner.undo, inner.work, inner.taken
	c.x.Received = inner.x.Received
	return plan.Steps(), err
}

// nowhere is where an answer goes that is not sent. The deadlines of the connection are the true
// ones.
type nowhere struct {
	instead http.ResponseWriter
	header  http.Header
}

func (n *nowhere) Header() http.Header { return n.header }

func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }

func (n *nowhere) WriteHeader(int) {}

// Unwrap lets http.ResponseController set deadlines.
func (n *nowhere) Unwrap() http.ResponseWriter { return n.instead }
