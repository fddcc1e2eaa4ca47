package incidents

import (
	"context"
	"encoding/csv"
	"iter"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/people"
)

// Kept keeps the incidents of all tenants, as package records has it.
type Kept interface {
	Open(context.Context, andon.TenantID) (all []*people.Incident, changes uint64, err error)
	Get(ctx context.Context, tenant andon.TenantID, id string) (people.Incident, error)
	Closed(
		ctx context.Context, tenant andon.TenantID, span andon.Span, before string, limit int,
	) iter.Seq2[people.Incident, error]
	OfDevice(
		ctx context.Context, tenant andon.TenantID, device andon.DeviceID, span andon.Span,
		limit int,
	) ([]people.Incident, error)
	Follow(
		ctx context.Context, tenant andon.TenantID, all []people.Incident, joined bool,
	) error
	Act(
		ctx context.Context, tenant andon.TenantID, id string, a people.Action,
	) (people.Incident, error)
}

// mostReported is of how many incidents a report is made at most.
const mostReported = 100_000

// Within reads the incidents that a report of a span is about.
func Within(
	ctx context.Context, kept Kept, tenant andon.TenantID, span andon.Span,
	selected *groups.Selected,
) (all []people.Incident, err error) {
	open, _, err := kept.Open(ctx, tenant)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, i := range open {
		if selected.Has(i.Device) && i.Since <= span.To {
			all, there[i.ID] = append(all, *i), true
		}
	}
	before := ""
	for more := true; more; {
		const step = andon.MaxLimit
		n := 0
		for i, err := range kept.Closed(ctx, tenant, span, before, step) {
			if err != nil {
				return nil, err
			}
			if n, before = n+1, i.ID; selected.Has(i.Device) && !there[i.ID] {
				all = append(all, i)
			}
		}
		if more = n == step; len(all) > mostReported {
			return nil, andon.Errorf(andon.TooLarge,
				"the span has more than %d incidents: ask for a shorter one", mostReported)
		}
	}
	return all, nil
}

// CSV writes the rows of a report, each of an operator, a device or an hour.
func CSV(per string, rows []client.IncidentRow) []byte {
	var text strings.Builder
	w := csv.NewWriter(&text)
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	_ = w.Write([]string{per, "incidents", "per_hour", "seconds"}) // a Builder takes all
	for _, r := range rows {
		_ = w.Write([]string{
			r.Name, strconv.Itoa(r.Incidents), number(r.PerHour), number(r.Seconds),
		})
	}
	w.Flush()
	return []byte(text.String())
}
