package incidents

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/people"
)

// Changed returns what tells a stream of a tenant which open incidents have changed after a change
// with a number, in the form of lists.
func Changed(
	kept Kept, tenant andon.TenantID,
) func(context.Context, uint64) (client.IncidentChanges, error) {
	return func(ctx context.Context, after uint64) (client.IncidentChanges, error) {
		changes, err := kept.Changed(ctx, tenant, after)
		all := client.IncidentChanges{Changes: changes.Number, More: changes.More}
		for _, one := range changes.Recent {
			shown := Show(one.Incident)
			if one.Gone {
				shown.Status = string(people.Closed)
			}
			all.Incidents = append(all.Incidents, shown)
		}
		return all, err
	}
}
