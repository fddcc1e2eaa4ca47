package shared

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// NoFeed is embedded by a store that has no feed.
type NoFeed struct{ NoArrivals }

// NoArrivals is embedded by a store that does not keep the order in which entries arrive.
type NoArrivals struct{}

var _ andon.Feed = NoFeed{}

// ErrNoFeed means that a store has no feed.
var ErrNoFeed = andon.Errorf(andon.Unsupported,
	"this store has no feed of changes: ask for the devices anew")

// Changes implements andon.Feed.
func (NoFeed) Changes(
	context.Context, andon.TenantID, andon.Position,
) iter.Seq2[andon.Change, error] {
	return seq.Of(func(func(andon.Change) bool) error { return ErrNoFeed })
}

// AwaitChange implements andon.Feed.
func (NoFeed) AwaitChange(context.Context, andon.TenantID, andon.Position) error {
	return ErrNoFeed
}

// Arrivals implements andon.Feed.
func (NoArrivals) Arrivals(
	context.Context, andon.TenantID, andon.ArrivalQuery,
) (none andon.Arrived, err error) {
	return none, andon.Errorf(andon.Unsupported, "this store does not keep the order in which "+
		"entries arrive: ask for those of a device since a time")
}

// ChangesKept implements andon.Feed.
func (NoFeed) ChangesKept(
	context.Context, andon.TenantID,
) (oldest, newest andon.Position, err error) {
	return oldest, newest, ErrNoFeed
}
