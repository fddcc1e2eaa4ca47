package cassandrastore

import (
	"context"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
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
		select {
		case <-ctx.Done():
			return
		case <-s.over:
			_ = sleep.For(ctx, s.options.Settle) // others may still write to that incarnation
		case <-time.After(purgeEvery):
		}
	}
}

func (s *Store) purgeAll(ctx context.Context) error {
	var key string
	var keys []string
	err := s.each(ctx, question{"SELECT tenant FROM purges WHERE part = 'purges'", 0}, nil,
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
	return s.write(ctx, []mutation{{{
		"DELETE FROM purges USING TIMESTAMP ? WHERE part = 'purges' AND tenant = ?",
		[]any{s.stamp(), key},
	}}})
}

// gone deletes, of an incarnation that is over, whatever was written at whatever time.
func gone(text string, args ...any) mutation {
	return mutation{{text, append([]any{int64(2 * aboveTimes)}, args...)}}
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
		err := s.write(ctx, []mutation{gone("DELETE FROM devices_by_tenant USING TIMESTAMP ? "+
			"WHERE tenant = ? AND bucket = ?", key, bucket)})
		if err != nil {
			return err
		}
	}
	if err := s.purgeNames(ctx, key); err != nil {
		return err
	}
	return s.write(ctx, []mutation{
		gone("DELETE FROM states_by_tenant USING TIMESTAMP ? WHERE tenant = ?", key),
		gone("DELETE FROM purged_devices USING TIMESTAMP ? WHERE tenant = ?", key),
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
	var all []mutation
	for rows, err := range s.escalations(ctx, &tenant{Tenant: &shared.Tenant{Key: key}}, device, 0) {
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.To != "" {
				all = append(all, gone("DELETE FROM hints_by_supervisor USING TIMESTAMP ? WHERE "+
					"tenant = ? AND supervisor = ? AND day = ? AND time = ? AND state = ? AND "+
					"device = ?", key, string(r.To), int(r.Time.Day()), int64(r.Time),
					string(r.State), string(device)))
			}
		}
	}
	bucket := bucketOf(string(device))
	for of, text := range map[string]string{
		ofMetric: "devices_by_metric USING TIMESTAMP ? WHERE tenant = ? AND bucket = ? AND " +
			"metric = ? AND device = ?",
		string(ofOperator): "devices_by_operator USING TIMESTAMP ? WHERE tenant = ? AND " +
			"operator = ? AND device = ?",
	} {
		for u, err := range s.units(ctx, key, ofNames, of, 0, 0, andon.Desc) {
			if err != nil {
				return err
			}
			for _, name := range u.labels {
				args := []any{key, name, string(device)}
				if of == ofMetric {
					args = []any{key, bucket, name, string(device)}
				}
				all = append(all, gone("DELETE FROM "+text, args...))
			}
		}
	}
	if err := s.write(ctx, all); err != nil {
		return err
	}
	if err := s.purgeDevices(ctx, key, []andon.DeviceID{device}, states); err != nil {
		return err
	}
	return s.write(ctx, []mutation{gone("DELETE FROM devices_by_tenant USING TIMESTAMP ? "+
		"WHERE tenant = ? AND bucket = ? AND device = ?", key, bucket, string(device))})
}

func (s *Store) purgeDevices(
	ctx context.Context, key string, ids []andon.DeviceID, states []andon.State,
) error {
	w := s.working.Load()
	return shared.Parallel(ctx, len(ids), func(ctx context.Context, i int) error {
		device := string(ids[i])
		var all []mutation
		for k, table := range map[kind]string{
			ofEvents: "events_by_device", ofReadings: "readings_by_device",
		} {
			for u, err := range s.units(ctx, key, k, device, 0, 1<<31-1, andon.Desc) {
				if err != nil {
					return err
				}
				for _, shard := range u.shards {
					all = append(all, gone("DELETE FROM "+table+" USING TIMESTAMP ? WHERE "+
						"tenant = ? AND device = ? AND day = ? AND shard = ?",
						key, device, int(u.number), shard))
				}
			}
			all = append(all, goneFrom(key, k, device))
		}
		for u, err := range s.units(ctx, key, ofEscalations, device, 0, lastDay, andon.Desc) {
			if err != nil {
				return err
			}
			all = append(all, gone("DELETE FROM escalations_by_day USING TIMESTAMP ? "+
				"WHERE tenant = ? AND device = ? AND day = ?", key, device, int(u.number)))
		}
		all = append(all, goneFrom(key, ofEscalations, device))
		v, err := s.lookOnly(ctx, key, ids[i], false)
		if err != nil {
			return err
		}
		p := place{tenant: key, device: device, at: andon.MaxTime}
		for _, d := range w.writes {
			for _, p.gen = range []shared.Generation{
				0, v.Run.Gen, v.Generation(v.Run.Gen - v.Run.Gen.OfDevice()),
			} {
				all = append(all, d.retire(p, states)...)
			}
		}
		if err := s.write(ctx, all); err != nil {
			return err
		}
		for i, table := range []string{
			"latest_by_device", "assignments_by_device", "retirements_by_device",
		} {
			all[i] = gone("DELETE FROM "+table+" USING TIMESTAMP ? "+
				"WHERE tenant = ? AND device = ?", key, device)
		}
		return s.write(ctx, all[:3])
	})
}

// goneFrom deletes a part of the directory.
func goneFrom(key string, k kind, id string) mutation {
	return gone("DELETE FROM directory USING TIMESTAMP ? WHERE tenant = ? AND kind = ? AND id = ?",
		key, string(k), id)
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
		if err := s.write(ctx, []mutation{goneFrom(key, ofNames, of)}); err != nil {
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
		var all []mutation
		for bucket := range deviceBuckets {
			all = append(all, gone("DELETE FROM devices_by_metric USING TIMESTAMP ? "+
				"WHERE tenant = ? AND metric = ? AND bucket = ?", key, name, bucket))
		}
		return s.write(ctx, all)
	}
	text := "DELETE FROM hints_by_supervisor USING TIMESTAMP ? " +
		"WHERE tenant = ? AND supervisor = ? AND day = ?"
	if kind(of) == ofOperator {
		text = "DELETE FROM hints_by_operator USING TIMESTAMP ? " +
			"WHERE tenant = ? AND operator = ? AND hour = ?"
	}
	var all []mutation
	for u, err := range s.units(ctx, key, kind(of), name, 0, 1<<31-1, andon.Desc) {
		if err != nil {
			return err
		}
		all = append(all, gone(text, key, name, int(u.number)))
	}
	if kind(of) == ofOperator {
		all = append(all, gone("DELETE FROM devices_by_operator USING TIMESTAMP ? "+
			"WHERE tenant = ? AND operator = ?", key, name))
	}
	return s.write(ctx, append(all, goneFrom(key, kind(of), name)))
}
