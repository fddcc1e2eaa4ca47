package keeper

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
)

// Observe takes in what is true of a device as far as an incident of a kind is about it that does
// not follow from the feed. Nothing happens where that is known. The operator is the device's.
func (k *Keeper) Observe(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, kind people.Kind,
	o people.Observation,
) error {
	shown, err := k.Store.Device(ctx, tenant, device)
	if err = unlessGone(err); err != nil {
		return err
	}
	o.Operator = shown.Operator
	f := &follower{Keeper: k, tenant: tenant}
	h, err := f.observe(ctx, device, kind, &o, nil, nil)
	if err == nil {
		f.effects(ctx, h)
	}
	return err
}
