package cassandrastore

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
)

// escalatedNow returns the newest escalation in force of any entry of the present incident of a
// device, ordered by when it was made, then by its entry. Nearly always it is the one that was made
// last, which the view has; else those of the incident are read, the newest first.
func (s *Store) escalatedNow(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, v *view,
) (andon.Escalation, error) {
	states, incident := t.Record.States, v.Incident.First
	inIncident := func(r *andon.Escalation) bool {
		return r.Time >= incident && states.Severity(r.State) > 0 && !v.IsWithdrawn(r.State, r.Time)
	}
	r := v.escalation
	if r.Gen == t.Gen() && r.To != "" && inIncident(&r.Escalation) {
		return r.Escalation, nil
	}
	v.searched = true
	seen := map[andon.EventKey]bool{}
	for made, err := range s.rows.Escalations(ctx, t, device, incident) {
		if err != nil {
			return andon.Escalation{}, err
		}
		var newest andon.Escalation
		for _, r := range rows.NewestOfEach(made, states, seen) {
			if r.To != "" && inIncident(&r) {
				newest = r // they rise
			}
		}
		if newest.To != "" {
			return newest, nil
		}
	}
	return andon.Escalation{}, nil
}

// restated returns what is written next to an escalation that was made at the same time as the one
// that is stored as the newest of the device under former severities: that one again, so that the
// two are compared under the same severities.
func (v *view) restated(t *rows.Tenant, r *andon.Escalation) []cql.Mutation {
	was := v.escalation
	if was.To == "" || was.At != max(1, r.At) || was.Gen == t.Gen() {
		return nil
	}
	was.Device = r.Device
	return []cql.Mutation{{rows.UpdateEscalation(t, &was.Escalation)}}
}
