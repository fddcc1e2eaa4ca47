package shared

import (
	"context"

	"github.com/andonhq/andon"
)

// NoArrivals is embedded by a store that does not keep the order in which entries arrive.
type NoArrivals struct{}

// ErrNoFeed means that a store has no feed.
var ErrNoFeed = andon.Errorf(andon.Unsupported,
	"this store has no feed of changes: ask for the devices anew")

// Arrivals implements andon.Feed.
func (NoArrivals) Arrivals(
	context.Context, andon.TenantID, andon.ArrivalQuery,
) (none andon.Arrived, err error) {
	return none, andon.Errorf(andon.Unsupported, "this store does not keep the order in which "+
		"entries arrive: ask for those of a device since a time")
}
