package storetest

import (
	"context"
	"iter"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/storecheck"
)

// Listing returns those of the checks that ask a store for a list of devices which a condition
// selects. Each check is run on the reference to see what it asks for, so the answer follows a
// check that changes. It is for a store that has several ways to find devices: the other checks
// can't tell them apart.
func Listing(
	t *testing.T, checks []storecheck.Check, condition func(andon.DeviceQuery) bool,
) (listing []storecheck.Check) {
	t.Helper()
	for _, c := range checks {
		l := &lists{Store: memstore.New(), condition: condition}
		if err := storecheck.RunOne(t.Context(), l, c).Err; err != nil {
			t.Fatalf("%s, on the reference: %v", c, err)
		}
		if l.asked {
			listing = append(listing, c)
		}
	}
	return listing
}

// lists is the reference, and notes whether it is asked for a list that a condition selects.
type lists struct {
	andon.Store
	condition func(andon.DeviceQuery) bool
	asked     bool
}

// Devices implements andon.Current.
func (l *lists) Devices(
	ctx context.Context, tenant andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	l.asked = l.asked || l.condition(q)
	return l.Store.Devices(ctx, tenant, q)
}
