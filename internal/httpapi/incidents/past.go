package incidents

import (
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/seq"
)

// Place is a place in the incidents of a device: before it are those that began later.
type Place struct {
	Since andon.Time
	ID    string
}

// PlaceOf is that of an incident.
func PlaceOf(i *people.Incident) *Place { return &Place{i.Since, i.ID} }

func (p Place) before(i *people.Incident) bool {
	return p.Since > i.Since || p.Since == i.Since && p.ID > i.ID
}

// OfDevice reads up to n incidents of a device that began within a span, newest first.
func OfDevice(
	ctx context.Context, kept Kept, tenant andon.TenantID, device andon.DeviceID, span andon.Span,
	after *Place, n int,
) iter.Seq2[people.Incident, error] {
	return seq.List(func() ([]people.Incident, error) {
		within := span
		if after != nil {
			within.To = after.Since
		}
		const kinds = 16 // that may have begun at one time
		all, err := kept.OfDevice(ctx, tenant, device, within, n+kinds)
		if after != nil {
			all = slices.DeleteFunc(all, func(i people.Incident) bool { return !after.before(&i) })
		}
		return all[:min(n, len(all))], err
	})
}

// Listed is an incident of a list: as it is kept, by which it has its place, and as the log of its
// device has it now.
type Listed struct{ Kept, Now *people.Incident }

// Follow makes a list of incidents.
func Follow(
	ctx context.Context, kept Kept, tenant andon.TenantID, all []*people.Incident,
) ([]Listed, error) {
	listed, now := make([]Listed, len(all)), make([]people.Incident, len(all))
	for i, one := range all {
		now[i] = *one
		listed[i] = Listed{one, &now[i]}
	}
	return listed, kept.Follow(ctx, tenant, now)
}
