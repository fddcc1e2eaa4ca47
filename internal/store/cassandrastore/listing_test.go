package cassandrastore

import (
	"context"
	"iter"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/storecheck"
)

// listing returns those of the checks that ask a store for a list of devices which the design of a
// keyspace finds. Each check is run on the reference to see what it asks for, so the answer follows
// a check that changes. The other checks can't tell designs apart.
func listing(t *testing.T, checks []storecheck.Check) (listing []storecheck.Check) {
	t.Helper()
	for _, c := range checks {
		l := &lists{Store: memstore.New()}
		if err := storecheck.RunOne(t.Context(), l, c).Err; err != nil {
			t.Fatalf("%s, on the reference: %v", c, err)
		}
		if l.asked {
			listing = append(listing, c)
		}
	}
	if len(listing) < 10 {
		t.Errorf("only %d checks list devices by state", len(listing))
	}
	return listing
}

// lists is the reference, and notes whether it is asked for a list that a design finds.
type lists struct {
	andon.Store
	asked bool
}

// Devices implements andon.Current.
func (l *lists) Devices(
	ctx context.Context, tenant andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	l.asked = l.asked || byDesign(q)
	return l.Store.Devices(ctx, tenant, q)
}

// byDesign reports whether the design of the keyspace finds the devices of a list, see candidates.
func byDesign(q andon.DeviceQuery) bool {
	return q.Kind == andon.ShownDevices && q.Operator == "" && q.EscalatedTo == "" &&
		!q.States.MatchesAll()
}
