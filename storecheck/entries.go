package storecheck

import (
	"context"
	"fmt"

	"github.com/andonhq/andon"
)

// identityChecks: an entry is (tenant, device, time, state).
func identityChecks() []Check {
	return []Check{
		check("2.1", "of two deliveries that differ one is kept whole",
			oneDeliveryStands).ofServers(),
	}
}

// oneDeliveryStands: which one is the store's choice, but never parts of both, and the current
// state shows the same one as the log.
func oneDeliveryStands(ctx context.Context, e *Env, id andon.TenantID) error {
	first := andon.Event{
		Device: "d1", Time: e.Base, State: "WARNING1", Operator: "Liz",
		Message: "one", Attributes: `{"n": 1}`,
	}
	second := first
	second.Operator, second.Message, second.Attributes = "Tom", "", `{"n":2}`
	for _, event := range []andon.Event{first, second} {
		if err := e.append(ctx, id, event); err != nil {
			return err
		}
	}
	return e.Eventually(ctx, func() error {
		entry, err := e.System.Entry(ctx, id, "d1", e.Base, "WARNING1")
		if err != nil {
			return err
		}
		if entry.Event != first && entry.Event != second {
			return fmt.Errorf("the entry is neither delivery: %+v", entry.Event)
		}
		d, err := e.System.Device(ctx, id, "d1")
		if err != nil {
			return err
		}
		if d.Message != entry.Message || d.Attributes != entry.Attributes ||
			d.Operator != entry.Operator {
			return fmt.Errorf("the device shows %+v, its entry is %+v", d, entry.Event)
		}
		return nil
	})
}
