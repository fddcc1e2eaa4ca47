package shared

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
)

// NoTenantEvents is embedded by a store that keeps entries by device: for the newest entries of a
// tenant it would have to read all partitions.
type NoTenantEvents struct{}

// TenantEvents implements andon.Log.
func (NoTenantEvents) TenantEvents(
	context.Context, andon.TenantID, andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return func(yield func(andon.Event, error) bool) {
		yield(andon.Event{}, andon.Errorf(andon.Unsupported,
			"this store keeps entries by device and can't list those of all: ask for those of a "+
				"device, an operator or a supervisor"))
	}
}
