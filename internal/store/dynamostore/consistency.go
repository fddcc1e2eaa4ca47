package dynamostore

import (
	"context"

	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// Reads for answers are strong or eventual, as the request or else the setting says. Reads before a
// write, and those of documents, are always strong: what is derived from them is written, or
// cached.

// forAnswer returns a context whose reads have the consistency that ctx asks for.
func (s *Store) forAnswer(ctx context.Context) context.Context {
	return ddb.ForAnswer(ctx, s.options.Consistency == ddb.Eventual)
}

// forReadings is forAnswer for readings, which have a setting of their own.
func (s *Store) forReadings(ctx context.Context) context.Context {
	return ddb.ForAnswer(ctx,
		s.options.Consistency == ddb.Eventual || s.options.Readings == ddb.Eventual)
}
