package cassandrastore

import (
	"context"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/shared"
)

// Incarnations of tenants and of devices that are over are given back in the background, by
// whichever process comes to it first; two at once do the same, which is harmless. What leads to
// other rows goes last, so that a purge that was broken off can be gone on with.

// purgeEvery is how often a process looks for what others left.
const purgeEvery = time.Hour

// purge waits for incarnations that are over.
func (s *Store) purge(ctx context.Context) {
	for {
		if err := s.purgeAll(ctx); err != nil && ctx.Err() == nil {
			s.options.Log.Warn("what is left of deleted tenants and purged devices can't be "+
				"removed yet", "error", err)
		}
		woken, err := sleep.Until(ctx, s.over, purgeEvery)
		if woken { // others may still write to that incarnation
			err = sleep.For(ctx, s.options.Settle)
		}
		if err != nil {
			return
		}
	}
}

func (s *Store) purgeAll(ctx context.Context) error {
	var key string
	var keys []string
	err := s.db.Each(ctx, cql.Ask("SELECT tenant FROM purges WHERE part = 'purges'", 0), nil,
		[]any{&key}, func() { keys = append(keys, key) })
	for _, key := range keys {
		if err != nil {
			return err
		}
		err = s.purgeIncarnation(ctx, key)
	}
	return err
}

func (s *Store) purgeIncarnation(ctx context.Context, key string) error {
	tenant, device, ofDevice := strings.Cut(key, "\x00")
	id := tenantOf(tenant)
	s.staleTenants()
	t, err := s.tenant(ctx, id)
	if err != nil && andon.KindOf(err) != andon.NotFound {
		return err
	}
	over := t == nil || t.Key != tenant
	switch {
	case over && !ofDevice:
		err = s.purgeRows(ctx, tenant)
	case !over && ofDevice && !t.purged.present(andon.DeviceID(device)):
		err = s.purgeDevice(ctx, tenant, andon.DeviceID(device))
	default: // the deletion did not come about, or takes the device along
		err = nil
	}
	if err != nil {
		return err
	}
	return s.db.Write(ctx, []cql.Mutation{cql.One(
		"DELETE FROM purges USING TIMESTAMP ? WHERE part = 'purges' AND tenant = ?",
		s.stamp(), key)})
}

// gone deletes, of an incarnation that is over, whatever was written at whatever time in a part of
// a table: where columns, which stand with spaces between, have values.
func gone(table, columns string, values ...any) cql.Mutation {
	where := strings.ReplaceAll(columns, " ", " = ? AND ") + " = ?"
	return cql.One(
		"DELETE FROM "+table+" USING TIMESTAMP ? WHERE "+where,
		append([]any{int64(2 * aboveTimes)}, values...)...)
}

func (s *Store) purgeRows(ctx context.Context, key string) error {
	states, err := s.seenStates(ctx, key)
	if err != nil {
		return err
	}
	for bucket := range deviceBuckets {
		all := s.streams(allDevices(key, "")[bucket:bucket+1], andon.DeviceQuery{Limit: 256})
		for {
			ids, err := all.Next(ctx, "", 64)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				break
			}
			if err := s.purgeDevices(ctx, key, ids, states); err != nil {
				return err
			}
		}
		err := s.db.Write(ctx, []cql.Mutation{gone("devices_by_tenant", "tenant bucket", key, bucket)})
		if err != nil {
			return err
		}
	}
	if err := s.purgeNames(ctx, key); err != nil {
		return err
	}
	return s.db.Write(ctx, []cql.Mutation{
		gone("states_by_tenant", "tenant", key),
		gone("purged_devices", "tenant", key),
	})
}

// purgeDevice deletes the rows of an incarnation of a device. Left are which hours of operators it
// had entries in, and the supervisor's row of an entry that a process writes later still: they lead
// to nothing, and nothing leads to them.
func (s *Store) purgeDevice(ctx context.Context, key string, device andon.DeviceID) error {
	states, err := s.seenStates(ctx, key)
	if err != nil {
		return err
	}
	var all []cql.Mutation
	t := &tenant{Tenant: &shared.Tenant{Key: key}}
	for rows, err := range s.escalations(ctx, t, device, 0) {
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.To != "" {
				all = append(all, gone("hints_by_supervisor",
					"tenant supervisor day time state device", key, string(r.To),
					int(r.Time.Day()), int64(r.Time), string(r.State), string(device)))
			}
		}
	}
	bucket := bucketOf(string(device))
	for _, of := range []string{ofMetric, string(ofOperator)} {
		for u, err := range s.units(ctx, key, ofNames, of, 0, 0, andon.Desc) {
			if err != nil {
				return err
			}
			for _, name := range u.labels {
				row := gone("devices_by_operator", "tenant operator device",
					key, name, string(device))
				if of == ofMetric {
					row = gone("devices_by_metric", "tenant metric bucket device",
						key, name, bucket, string(device))
				}
				all = append(all, row)
			}
		}
	}
	if err := s.db.Write(ctx, all); err != nil {
		return err
	}
	if err := s.purgeDevices(ctx, key, []andon.DeviceID{device}, states); err != nil {
		return err
	}
	return s.db.Write(ctx, []cql.Mutation{gone("devices_by_tenant", "tenant bucket device",
		key, bucket, string(device))})
}

func (s *Store) purgeDevices(
	ctx context.Context, key string, ids []andon.DeviceID, states []andon.State,
) error {
	w := s.working.Load()
	return shared.Parallel(ctx, len(ids), func(ctx context.Context, i int) error {
		device := string(ids[i])
		var all []cql.Mutation
		for k, table := range map[kind]string{
			ofEvents: "events_by_device", ofReadings: "readings_by_device",
		} {
			for u, err := range s.units(ctx, key, k, device, 0, 1<<31-1, andon.Desc) {
				if err != nil {
					return err
				}
				for _, shard := range u.shards {
					all = append(all, gone(table, "tenant device day shard",
						key, device, int(u.number), shard))
				}
			}
			all = append(all, goneFrom(key, k, device))
		}
		for u, err := range s.units(ctx, key, ofEscalations, device, 0, lastDay, andon.Desc) {
			if err != nil {
				return err
			}
			all = append(all, gone("escalations_by_day", "tenant device day",
				key, device, int(u.number)))
		}
		all = append(all, goneFrom(key, ofEscalations, device))
		v, err := s.lookOnly(ctx, key, ids[i], false)
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
		if err := s.db.Write(ctx, all); err != nil {
			return err
		}
		for i, table := range []string{
			"latest_by_device", "assignments_by_device", "retirements_by_device",
		} {
			all[i] = gone(table, "tenant device", key, device)
		}
		return s.db.Write(ctx, all[:3])
	})
}

// goneFrom deletes a part of the directory.
func goneFrom(key string, k kind, id string) cql.Mutation {
	return gone("directory", "tenant kind id", key, string(k), id)
}

// purgeNames deletes what is kept by operator, supervisor, metric and kind of record.
func (s *Store) purgeNames(ctx context.Context, key string) error {
	for _, of := range []string{string(ofOperator), string(ofSupervisor), ofMetric, ofRecord} {
		for u, err := range s.units(ctx, key, ofNames, of, 0, 0, andon.Desc) {
			if err != nil {
				return err
			}
			err = shared.Parallel(ctx, len(u.labels), func(ctx context.Context, i int) error {
				return s.purgeName(ctx, key, of, u.labels[i])
			})
			if err != nil {
				return err
			}
		}
		if err := s.db.Write(ctx, []cql.Mutation{goneFrom(key, ofNames, of)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) purgeName(ctx context.Context, key, of, name string) error {
	if of == ofRecord {
		return s.purgeRecords(ctx, key, name)
	}
	if of == ofMetric {
		var all []cql.Mutation
		for bucket := range deviceBuckets {
			all = append(all, gone("devices_by_metric", "tenant metric bucket", key, name, bucket))
		}
		return s.db.Write(ctx, all)
	}
	table, columns := "hints_by_supervisor", "tenant supervisor day"
	if kind(of) == ofOperator {
		table, columns = "hints_by_operator", "tenant operator hour"
	}
	var all []cql.Mutation
	for u, err := range s.units(ctx, key, kind(of), name, 0, 1<<31-1, andon.Desc) {
		if err != nil {
			return err
		}
		all = append(all, gone(table, columns, key, name, int(u.number)))
	}
	if kind(of) == ofOperator {
		all = append(all, gone("devices_by_operator", "tenant operator", key, name))
	}
	return s.db.Write(ctx, append(all, goneFrom(key, kind(of), name)))
}
