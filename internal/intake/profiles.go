package intake

import (
	"context"
	"encoding/json"

	"github.com/andonhq/andon"
)

// ChangeProfiles changes what is said of devices.
func (in *Intake) ChangeProfiles(
	ctx context.Context, tenant andon.TenantID, all []andon.ProfileChange,
) error {
	err := in.Groups.Change(ctx, tenant, all)
	for i := 0; i < len(all) && in.audits(); i++ {
		text, _ := json.Marshal(all[i])
		in.audit(ctx, "change profile", tenant, all[i].Device, err, Detail{"profile", string(text)})
	}
	return err
}

// PutGroupRules makes rules those that say the groups of devices.
func (in *Intake) PutGroupRules(
	ctx context.Context, tenant andon.TenantID, all []andon.GroupRule,
) error {
	err := in.Groups.PutRules(ctx, tenant, all)
	in.audit(ctx, "change group rules", tenant, "", err, Detail{"rules", len(all)})
	return err
}

// forget removes what is said of a device that is removed with it, or that was before: a removal
// that ended halfway is asked for again. It reports whether there was anything.
func (in *Intake) forget(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, removed error,
) (forgot bool, err error) {
	if removed != nil && andon.KindOf(removed) != andon.NotFound {
		return false, removed
	}
	forgot, err = in.Groups.Forget(context.WithoutCancel(ctx), tenant, device)
	if err != nil {
		return forgot, err
	}
	return forgot, removed
}
