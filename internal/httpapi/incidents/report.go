package incidents

import (
	"context"
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/people/report"
)

// Kept keeps the incidents of all tenants, as package records has it.
type Kept interface {
	Open(context.Context, andon.TenantID) (all []*people.Incident, changes uint64, err error)
	Get(ctx context.Context, tenant andon.TenantID, id string) (people.Incident, error)
	Past(
		ctx context.Context, tenant andon.TenantID, q records.PastQuery,
	) ([]people.Incident, error)
	During(
		ctx context.Context, tenant andon.TenantID, span andon.Span,
		only func(andon.DeviceID) bool, do func([]people.Incident) error,
	) error
	OfDevice(
		ctx context.Context, tenant andon.TenantID, device andon.DeviceID, span andon.Span,
		limit int,
	) ([]people.Incident, error)
	Follow(ctx context.Context, tenant andon.TenantID, all []people.Incident) error
	Act(
		ctx context.Context, tenant andon.TenantID, id string, a people.Action,
	) (people.Incident, error)
}

// mostReported is of how many incidents a report is made at most.
const mostReported = 100_000

// Within reads the incidents that a report of a span is about, as the log has them now.
func Within(
	ctx context.Context, kept Kept, tenant andon.TenantID, span andon.Span,
	selected *groups.Selected,
) (all []report.Incident, err error) {
	err = kept.During(ctx, tenant, span, selected.Has, func(some []people.Incident) error {
		for i := range some {
			all = append(all, report.Of(&some[i]))
		}
		if len(all) > mostReported {
			return andon.Errorf(andon.TooLarge,
				"the span has more than %d incidents: ask for a shorter one", mostReported)
		}
		return nil
	})
	return all, err
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
