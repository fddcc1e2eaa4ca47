package andon

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"time"
)

// PlanStep is one statement that a store sent to its engine to answer a query.
type PlanStep struct {
	Statement   string   `json:"statement"`             // as the engine was sent it
	Partition   []string `json:"partition,omitempty"`   // the values of its partition key
	Consistency string   `json:"consistency,omitempty"` // as the engine names it
	Times       int      `json:"times"`                 // how often, with other partitions
	Rows        int      `json:"rows"`                  // that came back, of all times
	Scanned     int      `json:"scanned,omitempty"`     // that were read for them, where known
	Bytes       int      `json:"bytes,omitempty"`       // of the blocks that hold them, where known
	// Units is what it cost of capacity, where the engine says so.
	Units float64 `json:"units,omitempty"`
	Took  Took    `json:"ms"` // of all times together
}

// Took is a length of time that JSON has in milliseconds, cut to microseconds: finer ones
// are noise.
type Took time.Duration

// MarshalJSON writes a number.
func (m Took) MarshalJSON() ([]byte, error) {
	return json.Marshal(math.Round(float64(m)/float64(time.Microsecond)) / 1000)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Took) UnmarshalJSON(text []byte) error {
	var ms float64
	err := json.Unmarshal(text, &ms)
	*m = Took(math.Round(ms * float64(time.Millisecond)))
	return err
}

// Plan is what a store sent to its engine to answer one query, in the order of first use. A
// statement that was sent many times, each to another partition, is one step: Partition is that of
// the first time. It may be used concurrently.
type Plan struct {
	mu    sync.Mutex
	steps []PlanStep
	at    map[string]int
}

type planKey struct{}

// WithPlan returns a context in which a store writes down what it sends, where it declares
// Capabilities.Explain.
func WithPlan(ctx context.Context) (context.Context, *Plan) {
	p := &Plan{at: map[string]int{}}
	return context.WithValue(ctx, planKey{}, p), p
}

// PlanOf returns the plan that a context asks for, or nil.
func PlanOf(ctx context.Context) *Plan {
	p, _ := ctx.Value(planKey{}).(*Plan)
	return p
}

// Add writes a statement down. Without a plan it does nothing.
func (p *Plan) Add(s PlanStep) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.at[s.Statement]
	if !ok {
		i = len(p.steps)
		p.at[s.Statement] = i
		p.steps = append(p.steps, PlanStep{
			Statement: s.Statement, Partition: s.Partition, Consistency: s.Consistency,
		})
	}
	p.steps[i].Times++
	p.steps[i].Rows += s.Rows
	p.steps[i].Scanned += s.Scanned
	p.steps[i].Bytes += s.Bytes
	p.steps[i].Units += s.Units
	p.steps[i].Took += s.Took
}

// Steps returns what was written down.
func (p *Plan) Steps() []PlanStep {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]PlanStep(nil), p.steps...)
}
