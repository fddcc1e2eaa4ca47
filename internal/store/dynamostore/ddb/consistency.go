package ddb

import "context"

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
