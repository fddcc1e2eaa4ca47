package cassandrastore

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
)

// escalated returns what is written next to an escalation record: with the device, for the present
// incident, and for its supervisor.
func (a *appending) escalated(r andon.Escalation) []cql.Mutation {
	key, device := a.tenant.Key, string(r.Device)
	all := []cql.Mutation{
		cql.One(
			"INSERT INTO escalations_by_day (tenant, device, day, at, time, state, supervisor) "+
				"VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
			key, device, int(r.At.Day()), int64(r.At), int64(r.Time), string(r.State),
			string(r.To), a.stamp),
		{rows.SetLatest(key, r.Device, "escalated", int64(r.Time), int64(r.Time)),
			rows.UpdateEscalation(a.tenant, &r)},
	}
	a.index.Partition(rows.OfEscalations, device, r.At.Day(), 0, "", r.At)
	if r.To == "" {
		return all
	}
	day := r.Time.Day()
	a.index.Partition(rows.OfSupervisor, string(r.To), day, 0, "", r.Time)
	a.index.Name(string(rows.OfSupervisor), string(r.To))
	return append(all, cql.One(
		"INSERT INTO hints_by_supervisor (tenant, supervisor, day, time, state, device) "+
			"VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
		key, string(r.To), int(day), int64(r.Time), string(r.State), device, a.stamp))
}

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
