package ddb

import (
	"context"

	"github.com/andonhq/andon"
)

// The consistencies of a read. Reads are strong unless their context says otherwise (Eventually).
const (
	Strong   = "strong"
	Eventual = "eventual"
)

type eventualKey struct{}

// Eventually returns a context for reads that are eventually consistent.
func Eventually(ctx context.Context) context.Context {
	return context.WithValue(ctx, eventualKey{}, true)
}

// Strongly returns a context for strong reads within a request whose reads are eventual.
func Strongly(ctx context.Context) context.Context {
	if IsEventual(ctx) {
		return context.WithValue(ctx, eventualKey{}, false)
	}
	return ctx
}

// IsEventual reports whether reads in a context are eventually consistent.
func IsEventual(ctx context.Context) bool {
	is, _ := ctx.Value(eventualKey{}).(bool)
	return is
}

// ForAnswer returns a context whose reads have the consistency that a request asks for, or else
// that which is set.
func ForAnswer(ctx context.Context, eventualAsSet bool) context.Context {
	wanted := andon.ConsistencyOf(ctx)
	if wanted == andon.Eventual || wanted == andon.AsSet && eventualAsSet {
		return Eventually(ctx)
	}
	return ctx
}

// ByIndex refuses an answer that must be strong and is found through an index, which never is.
func ByIndex(ctx context.Context, what string) error {
	if andon.ConsistencyOf(ctx) != andon.Strong {
		return nil
	}
	return andon.Errorf(andon.Unsupported, "%s are found through an index of DynamoDB, which "+
		"follows a write a moment later: ask without consistency=strong", what)
}
