package wrap

import (
	"context"

	"github.com/andonhq/andon"
)

// Sweeper is a store whose engine deletes what has expired in its own time, within days perhaps. A
// store need not be one.
type Sweeper interface {
	// Sweep deletes what a tenant has that is older than the horizon, as fast as the settings of
	// the store allow, and returns how much it deleted. The caller has stored a floor of the tenant
	// as for Expire. What was broken off goes on where it was.
	Sweep(ctx context.Context, id andon.TenantID, h andon.Horizon) (deleted int64, err error)
}

// SweepOf returns Sweep of a store, through all hooks around it; nil where it is no Sweeper: then
// Expire deletes.
func SweepOf(
	s andon.Store,
) func(ctx context.Context, id andon.TenantID, h andon.Horizon) (deleted int64, err error) {
	if _, is := As[Sweeper](s); !is {
		return nil
	}
	return func(
		ctx context.Context, id andon.TenantID, h andon.Horizon,
	) (deleted int64, err error) {
		err = Ask(ctx, s, "Sweep", "can't sweep", func(of Sweeper) (err error) {
			deleted, err = of.Sweep(ctx, id, h)
			return err
		})
		return deleted, err
	}
}
