package incidents

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/seq"
)

// OpenedWithin returns those that opened within a span, by ID, newest first. It changes the list.
func OpenedWithin(all []*people.Incident, span andon.Span) []*people.Incident {
	all = slices.DeleteFunc(all, func(i *people.Incident) bool {
		return i.Opened < span.From || span.To != 0 && i.Opened > span.To
	})
	slices.SortFunc(all, func(a, b *people.Incident) int { return cmp.Compare(b.ID, a.ID) })
	return all
}

// Before returns those of a list by ID, newest first, that come after one; all after none.
func Before(all []*people.Incident, id string) []*people.Incident {
	for id != "" && len(all) > 0 && all[0].ID >= id {
		all = all[1:]
	}
	return all
}

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

// Follow makes a list of those that are admitted, and leaves the others as they are.
func Follow(
	ctx context.Context, kept Kept, tenant andon.TenantID, all []*people.Incident,
	admits func(*people.Incident) bool,
) ([]Listed, error) {
	listed, now := make([]Listed, len(all)), make([]people.Incident, 0, len(all))
	for i, one := range all {
		if listed[i] = (Listed{one, one}); admits(one) {
			now = append(now, *one)
			listed[i].Now = &now[len(now)-1]
		}
	}
	return listed, kept.Follow(ctx, tenant, now, false)
}
