package intake

import (
	"context"
	"time"

	"github.com/andonhq/andon"
)

func (in *Intake) believed() andon.Time {
	if in.options.Clock == nil {
		return in.options.Now()
	}
	return in.options.Clock.Believed()
}

// KeepClock writes down what is to be remembered of the clock, in the record of the tenant that
// always exists, unless it was done a moment ago.
func (in *Intake) KeepClock(ctx context.Context) error {
	const moment = andon.Duration(10 * time.Minute / time.Microsecond)
	if in.options.Clock == nil {
		return nil
	}
	mark := in.options.Clock.Mark()
	t, err := in.store.Tenant(ctx, andon.DefaultTenant)
	if err != nil {
		return err
	}
	if mark.Doubted == t.Clock.Doubted && mark.Last.Sub(t.Clock.Last) < moment &&
		mark.Last >= t.Clock.Last {
		return nil
	}
	_, _, err = in.changeTenant(ctx, t.ID, func(t *andon.Tenant) error {
		mark.Believed = max(mark.Believed, t.Clock.Believed) // another process's, on a shared one
		t.Clock = mark
		return stillThere(t)
	})
	return err
}
