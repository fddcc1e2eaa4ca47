package shared

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// NoTenantEvents is embedded by a store that keeps entries by device: for the newest entries of a
// tenant it would have to read all partitions.
type NoTenantEvents struct{}

// TenantEvents implements andon.Log.
func (NoTenantEvents) TenantEvents(
	context.Context, andon.TenantID, andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return seq.List(func() ([]andon.Event, error) {
		return nil, andon.Errorf(andon.Unsupported, "this store keeps entries by device and can't "+
			"list those of all: ask for those of a device, an operator or a supervisor")
	})
}
