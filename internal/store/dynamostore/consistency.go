package dynamostore

import (
	"context"

	"github.com/andonhq/andon"
)

// Reads for answers are strong or eventual, as the request or else the setting has it. Reads before
// a write, and those of documents, are always strong: what is concluded from them is written, or
// remembered.

const (
	strong   = "strong"
	eventual = "eventual"
)

type eventualKey struct{}

// asked begins an answer: reads in the context that it returns are of the consistency that ctx
// asks for.
func (s *Store) asked(ctx context.Context) context.Context {
	return s.reading(ctx, s.options.Consistency == eventual)
}

// askedReadings is asked for readings, which have a setting of their own.
func (s *Store) askedReadings(ctx context.Context) context.Context {
	return s.reading(ctx, s.options.Consistency == eventual || s.options.Readings == eventual)
}

func (s *Store) reading(ctx context.Context, asSet bool) context.Context {
	is := andon.ConsistencyOf(ctx)
	if is == andon.Eventual || (is == andon.AsSet && asSet) {
		return weakly(ctx)
	}
	return ctx
}

// weakly returns a context for reads that are eventual.
func weakly(ctx context.Context) context.Context {
	return context.WithValue(ctx, eventualKey{}, true)
}

// strongly returns a context for reads that are strong within an answer that is not.
func strongly(ctx context.Context) context.Context {
	if isEventual(ctx) {
		return context.WithValue(ctx, eventualKey{}, false)
	}
	return ctx
}

func isEventual(ctx context.Context) bool {
	is, _ := ctx.Value(eventualKey{}).(bool)
	return is
}

// byIndex refuses an answer that must be strong and is found through an index, which never is.
func byIndex(ctx context.Context, what string) error {
	if andon.ConsistencyOf(ctx) != andon.Strong {
		return nil
	}
	return andon.Errorf(andon.Unsupported, "%s are found through an index of DynamoDB, which "+
		"follows a write a moment later: ask without consistency=strong", what)
}
