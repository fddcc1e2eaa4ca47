package shared

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
)

// NoFeed is the feed of a store that has none.
type NoFeed struct{}

var _ andon.Feed = NoFeed{}

var errNoFeed = andon.Errorf(andon.Unsupported,
	"this store has no feed of changes: ask for the devices anew")

// Changes is of andon.Feed.
func (NoFeed) Changes(
	context.Context, andon.TenantID, andon.Position,
) iter.Seq2[andon.Change, error] {
	return func(yield func(andon.Change, error) bool) { yield(andon.Change{}, errNoFeed) }
}

// AwaitChange is of andon.Feed.
func (NoFeed) AwaitChange(context.Context, andon.TenantID, andon.Position) error {
	return errNoFeed
}

// ChangesKept is of andon.Feed.
func (NoFeed) ChangesKept(
	context.Context, andon.TenantID,
) (oldest, newest andon.Position, err error) {
	return oldest, newest, errNoFeed
}
