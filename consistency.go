package andon

import (
	"context"
	"fmt"
)

// Consistency is how fresh what a read finds must be. It matters to a store that can read in two
// ways, of which the one that may lag costs less.
type Consistency uint8

// The consistencies. The zero value is of reads for which none was chosen, such as those before a
// write: they are as fresh as the store can make them.
const (
	Freshest Consistency = iota
	AsSet                // as the store is set
	Eventual             // may lack the newest writes for a moment
	Strong               // finds all that was acknowledged, or is Unsupported
)

// ParseConsistency reads "strong" and "eventual"; an empty text is AsSet.
func ParseConsistency(text string) (Consistency, error) {
	switch text {
	case "":
		return AsSet, nil
	case "strong":
		return Strong, nil
	case "eventual":
		return Eventual, nil
	}
	return AsSet, fmt.Errorf("%q is neither strong nor eventual", text)
}

// String returns what ParseConsistency reads; empty where none was chosen.
func (c Consistency) String() string {
	switch c {
	case Strong:
		return "strong"
	case Eventual:
		return "eventual"
	}
	return ""
}

type consistencyKey struct{}

// WithConsistency returns a context in which a store reads so. A store that does not declare
// Capabilities.Consistency reads as always, and a caller that needs a strong read must look at
// Immediate.
func WithConsistency(ctx context.Context, c Consistency) context.Context {
	return context.WithValue(ctx, consistencyKey{}, c)
}

// ConsistencyOf returns what a context asks for.
func ConsistencyOf(ctx context.Context) Consistency {
	c, _ := ctx.Value(consistencyKey{}).(Consistency)
	return c
}
