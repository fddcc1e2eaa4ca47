package cassandrastore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// Rows under former keys of tenants and devices are deleted in the background, by whichever process
// comes first. Two that do so at once do the same, which is harmless. Rows that lead to other rows
// are deleted last, so that an interrupted purge can be continued.

// purgeEvery is how often a process looks for purges that others left.
const purgeEvery = time.Hour

// purgeAll deletes rows under former keys, and continues after an error. It waits for so long
// before, since a process may just have given one of them up, and others still write under it.
func (s *Store) purgeAll(ctx context.Context, after time.Duration) error {
	ask := cql.Ask("SELECT tenant FROM purges WHERE part = 'purges'", 0)
	keys, err := cql.Texts[string](ctx, s.db, ask)
	if len(keys) > 0 {
		err = errors.Join(err, sleep.For(ctx, after))
	}
	if ctx.Err() != nil {
		return err
	}
	for _, key := range keys {
		err = errors.Join(err, s.purgeIncarnation(ctx, key))
	}
	return err
}

func (s *Store) purgeIncarnation(ctx context.Context, key string) error {
	tenant, device, ofDevice := strings.Cut(key, "\x00")
	id := rows.TenantOf(tenant)
	s.staleTenants()
	t, err := s.tenant(ctx, id)
	if err != nil && andon.KindOf(err) != andon.NotFound {
		return err
	}
	over := t == nil || t.Key != tenant
	switch {
	case over && !ofDevice:
		err = s.purgeRows(ctx, tenant)
	case !over && ofDevice && !t.Purged.Present(andon.DeviceID(device)):
		key := andon.DeviceID(device)
		if err = s.changedBy(ctx, t, key, andon.ByPurge, andon.EntryRef{}); err == nil {
			err = s.purgeDevice(ctx, tenant, key)
		}
	default: // the deletion did not come about, or takes the device along
		err = nil
	}
	if err != nil {
		return err
	}
	return s.db.Write(ctx, cql.One(
		"DELETE FROM purges USING TIMESTAMP ? WHERE part = 'purges' AND tenant = ?",
		s.stamp(), key))
}

func (s *Store) purgeRows(ctx context.Context, key string) error {
	states, err := s.rows.States(ctx, key)
	if err != nil {
		return err
	}
	for bucket := range rows.Buckets {
		part := allDevices(key, "")[bucket : bucket+1]
		all := s.streams(ctx, part, andon.DeviceQuery{Limit: 256})
		for ids, err := range seq.Pieces(func() int { return 64 }, all) {
			if err != nil {
				return err
			}
			if err := s.purgeDevices(ctx, key, ids, states); err != nil {
				return err
			}
		}
		err := s.db.Write(ctx,
			rows.Gone("devices_by_tenant", "tenant bucket", key, bucket),
		)
		if err != nil {
			return err
		}
	}
	if err := s.purgeNames(ctx, key); err != nil {
		return err
	}
	if s.feeds {
		if err := s.Logs.Delete(ctx, key); err != nil {
			return err
		}
	}
	return s.db.Write(ctx, rows.Gone("purged_devices", "tenant", key))
}

// purgeDevice deletes the rows under a former key of a device. It leaves the hours in which
// operators had entries of it, and the supervisor's row of an entry that a process writes even
// later: they lead to nothing.
func (s *Store) purgeDevice(ctx context.Context, key string, device andon.DeviceID) error {
	states, err := s.rows.States(ctx, key)
	if err != nil {
		return err
	}
	var all []cql.Mutation
	t := &rows.Tenant{Tenant: &shared.Tenant{Key: key}}
	for made, err := range s.rows.Escalations(ctx, t, device, 0) {
		if err != nil {
			return err
		}
		for _, r := range made {
			if r.To != "" {
				all = append(all, rows.Gone("hints_by_supervisor",
					"tenant supervisor day time state device", key, string(r.To),
					int(r.Time.Day()), int64(r.Time), string(r.State), string(device)))
			}
		}
	}
	bucket := rows.Bucket(string(device))
	for name, err := range s.rows.Names(ctx, key, rows.OfMetric, "", cql.PageRows) {
		if err != nil {
			return err
		}
		all = append(all, rows.Gone("devices_by_metric", "tenant metric bucket device",
			key, name, bucket, string(device)))
	}
	for name, err := range s.rows.Names(ctx, key, string(rows.OfOperator), "", cql.PageRows) {
		if err != nil {
			return err
		}
		all = append(all, rows.Gone("devices_by_operator", "tenant operator device",
			key, name, string(device)))
	}
	if err := s.db.Write(ctx, all...); err != nil {
		return err
	}
	if err := s.purgeDevices(ctx, key, []andon.DeviceID{device}, states); err != nil {
		return err
	}
	return s.db.Write(ctx, rows.Gone("devices_by_tenant", "tenant bucket device",
		key, bucket, string(device)))
}

func (s *Store) purgeDevices(
	ctx context.Context, key string, ids []andon.DeviceID, states []andon.State,
) error {
	w := s.working.Load()
	return shared.Parallel(ctx, len(ids), func(ctx context.Context, i int) error {
		device := string(ids[i])
		var all []cql.Mutation
		for k, table := range map[rows.Kind]string{
			rows.OfEvents: "events_by_device", rows.OfReadings: "readings_by_device",
			rows.OfEscalations: "escalations_by_day",
		} {
			units, err := s.goneUnits(ctx, key, k, device, table, "tenant device day")
			if err != nil {
				return err
			}
			all = append(all, units...)
		}
		v, err := s.readPartition(ctx, key, ids[i], false)
		if err != nil {
			return err
		}
		p := designs.Place{Tenant: key, Device: device, At: andon.MaxTime}
		for _, d := range w.Writes {
			for _, p.Gen = range []shared.Generation{
				0, v.Run.Gen, v.Generation(v.Run.Gen - v.Run.Gen.OfDevice()),
			} {
				all = append(all, d.Retire(p, states)...)
			}
		}
		if err := s.db.Write(ctx, all...); err != nil {
			return err
		}
		const columns = "tenant device"
		return s.db.Write(ctx, rows.Gone("latest_by_device", columns, key, device),
			rows.Gone("assignments_by_device", columns, key, device),
			rows.Gone("retirements_by_device", columns, key, device))
	})
}

// purgeNames deletes what is stored by operator, supervisor, metric and kind of record, and the
// names.
func (s *Store) purgeNames(ctx context.Context, key string) error {
	for _, of := range []string{
		string(rows.OfOperator), string(rows.OfSupervisor), rows.OfMetric, rows.OfRecord,
	} {
		for name, err := range s.rows.Names(ctx, key, of, "", cql.PageRows) {
			if err == nil {
				err = s.purgeName(ctx, key, of, name)
			}
			if err != nil {
				return err
			}
		}
		if err := s.db.Write(ctx, rows.GoneFrom(key, rows.OfNames, of)); err != nil {
			return err
		}
	}
	return s.db.Write(ctx, rows.GoneFrom(key, rows.OfNames, rows.OfState))
}

func (s *Store) purgeName(ctx context.Context, key, of, name string) error {
	if of == rows.OfRecord {
		return s.Table.Purge(ctx, key, name)
	}
	if of == rows.OfMetric {
		var all []cql.Mutation
		for bucket := range rows.Buckets {
			all = append(all, rows.Gone("devices_by_metric", "tenant metric bucket",
				key, name, bucket))
		}
		return s.db.Write(ctx, all...)
	}
	table, columns := "hints_by_supervisor", "tenant supervisor day"
	if rows.Kind(of) == rows.OfOperator {
		table, columns = "hints_by_operator", "tenant operator hour"
	}
	all, err := s.goneUnits(ctx, key, rows.Kind(of), name, table, columns)
	if err != nil {
		return err
	}
	if rows.Kind(of) == rows.OfOperator {
		all = append(all, rows.Gone("devices_by_operator", "tenant operator", key, name))
	}
	return s.db.Write(ctx, all...)
}

// goneUnits returns what deletes the partitions of a kind and an id from their table, and then from
// the directory. columns are those of the key, with a shard where the kind has shards.
func (s *Store) goneUnits(
	ctx context.Context, key string, k rows.Kind, id, table, columns string,
) (all []cql.Mutation, err error) {
	for u, err := range s.rows.Units(ctx, key, k, id, 0, rows.LastDay, andon.Desc) {
		if err != nil {
			return nil, err
		}
		if k != rows.OfEvents && k != rows.OfReadings {
			all = append(all, rows.Gone(table, columns, key, id, int(u.Number)))
			continue
		}
		for _, shard := range u.Shards {
			all = append(all, rows.Gone(table, columns+" shard", key, id, int(u.Number), shard))
		}
	}
	return append(all, rows.GoneFrom(key, k, id)), nil
}
