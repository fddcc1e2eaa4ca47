package cassandrastore

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
)

var errNoFeed = andon.Errorf(andon.Unsupported, "the cassandra store has no feed of changes: "+
	"ask for the devices anew")

// Changes is of andon.Feed.
func (s *Store) Changes(
	context.Context, andon.TenantID, andon.Position,
) iter.Seq2[andon.Change, error] {
	return func(yield func(andon.Change, error) bool) { yield(andon.Change{}, errNoFeed) }
}

// AwaitChange is of andon.Feed.
func (s *Store) AwaitChange(context.Context, andon.TenantID, andon.Position) error {
	return errNoFeed
}

// ChangesKept is of andon.Feed.
func (s *Store) ChangesKept(
	context.Context, andon.TenantID,
) (oldest, newest andon.Position, err error) {
	return oldest, newest, errNoFeed
}
