package dynamostore

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// Reads for answers are strong or eventual, as the request or else the setting says. Reads before a
// write, and those of documents, are always strong: what is derived from them is written, or
// cached.

// forAnswer returns a context whose reads have the consistency that ctx asks for.
func (s *Store) forAnswer(ctx context.Context) context.Context {
	return consistent(ctx, s.options.Consistency == ddb.Eventual)
}

// forReadings is forAnswer for readings, which have a setting of their own.
func (s *Store) forReadings(ctx context.Context) context.Context {
	return consistent(ctx,
		s.options.Consistency == ddb.Eventual || s.options.Readings == ddb.Eventual)
}

func consistent(ctx context.Context, eventualAsSet bool) context.Context {
	wanted := andon.ConsistencyOf(ctx)
	if wanted == andon.Eventual || wanted == andon.AsSet && eventualAsSet {
		return ddb.Eventually(ctx)
	}
	return ctx
}

// byIndex refuses an answer that must be strong and is found through an index, which never is.
func byIndex(ctx context.Context, what string) error {
	if andon.ConsistencyOf(ctx) != andon.Strong {
		return nil
	}
	return andon.Errorf(andon.Unsupported, "%s are found through an index of DynamoDB, which "+
		"follows a write a moment later: ask without consistency=strong", what)
}
