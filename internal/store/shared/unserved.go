package shared

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// DeviceLog is embedded by a store that keeps entries by device, and not the order in which they
// arrive: for the newest entries of a tenant it would have to read all partitions.
type DeviceLog struct{}

// ErrNoFeed means that a store has no feed.
var ErrNoFeed = andon.Errorf(andon.Unsupported,
	"this store has no feed of changes: ask for the devices anew")

// ErrNoArrivals means that a store does not keep the order of arrival.
var ErrNoArrivals = andon.Errorf(andon.Unsupported, "this store does not keep the order in which "+
	"entries arrive: ask for those of a device since a time")

// Arrivals implements andon.Feed.
func (DeviceLog) Arrivals(
	context.Context, andon.TenantID, andon.ArrivalQuery,
) (none andon.Arrived, err error) {
	return none, ErrNoArrivals
}

// TenantEvents implements andon.Log.
func (DeviceLog) TenantEvents(
	context.Context, andon.TenantID, andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return seq.List(func() ([]andon.Event, error) {
		return nil, andon.Errorf(andon.Unsupported, "this store keeps entries by device and can't "+
			"list those of all: ask for those of a device, an operator or a supervisor")
	})
}
