package cassandrastore

import (
	"context"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
)

// clockSkew is how far apart the clocks of processes may be, in µs, so that none misses a row.
const clockSkew = 10 * 60 * 1_000_000

// purgedList is what is known of the purged devices of a tenant.
type purgedList struct {
	devices *rows.Purged
	read    time.Time
}

func (t *tenants) purgedOf(key string) purgedList {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.purged[key]
}

// purgedNow returns the purged devices of a tenant, at most a second old. It reads the rows that
// were added to their list.
func (s *Store) purgedNow(ctx context.Context, key string) (*rows.Purged, error) {
	began, known := s.now(), s.tenants.purgedOf(key)
	if began.Sub(known.read).Abs() < every {
		return known.devices, nil
	}
	from := int64(0)
	if known.devices != nil {
		from = known.devices.Newest - clockSkew
	}
	var at int64
	var id andon.DeviceID
	var before int
	is := &rows.Purged{Before: map[andon.DeviceID]int{}}
	q := cql.Ask("SELECT at, device, before FROM purged_devices WHERE tenant = ? AND at >= ?", 1)
	err := s.db.Each(ctx, q, []any{key, from}, []any{&at, &id, &before}, func() {
		is.Newest, is.Before[id] = max(is.Newest, at), max(is.Before[id], before)
	})
	if err != nil {
		return nil, err
	}
	return s.learnPurged(key, is, began), nil
}

// learnPurged adds purged devices to those that are known. read is when the list was read; zero: it
// was not.
func (s *Store) learnPurged(key string, is *rows.Purged, read time.Time) *rows.Purged {
	s.tenants.mu.Lock()
	defer s.tenants.mu.Unlock()
	known := s.tenants.purged[key]
	if read.IsZero() {
		read = known.read
	}
	all, added := known.devices.With(is)
	s.tenants.purged[key] = purgedList{all, read}
	for device, before := range added {
		s.dropCounts(key, device, before)
	}
	return all
}

// dropCounts forgets what was counted under former keys of a device.
func (s *Store) dropCounts(key string, device andon.DeviceID, before int) {
	for n := range before {
		s.counts.Drop(key, rows.DeviceKey(device, n))
	}
}

// Purge implements andon.Corrections. The device gets its next key, and the rows of the former one
// are deleted in the background. Purge returns once every process uses the new key: what one of
// them still writes under the former key began before.
func (s *Store) Purge(ctx context.Context, id andon.TenantID, device andon.DeviceID) error {
	ctx, end := s.within(ctx)
	defer end()
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	s.staleTenants() // another process may have purged it
	return s.onDevice(ctx, id, device, func(
		ctx context.Context, t *rows.Tenant, former andon.DeviceID, _ *taken,
	) error {
		q := cql.Ask("SELECT device FROM devices_by_tenant WHERE tenant = ? AND bucket = ? "+
			"AND device = ?", 2)
		known, err := cql.Texts[string](ctx, s.db, q,
			t.Key, rows.Bucket(string(former)), string(former))
		if err == nil && len(known) == 0 {
			err = andon.Errorf(andon.NotFound, "nothing is kept of device %q", device)
		}
		if err != nil {
			return err
		}
		return s.nextKey(ctx, t, device)
	})
}

func (s *Store) nextKey(ctx context.Context, t *rows.Tenant, device andon.DeviceID) error {
	// Before, so that it is not forgotten; and after, since a purge may have read it too early.
	former := t.Purged.Key(device)
	over := t.Key + "\x00" + string(former)
	if err := s.markOver(ctx, over); err != nil {
		return err
	}
	at, before := s.stamp(), 1
	if t.Purged != nil {
		before += t.Purged.Before[device]
	}
	err := s.db.Write(ctx, cql.One(
		"INSERT INTO purged_devices (tenant, at, device, before) VALUES (?, ?, ?, ?) "+
			"USING TIMESTAMP ?", t.Key, at, string(device), before, at))
	if err == nil {
		err = s.markOver(ctx, over)
	}
	if err != nil {
		return err
	}
	is := &rows.Purged{Before: map[andon.DeviceID]int{device: before}, Newest: at}
	t.Purged = s.learnPurged(t.Key, is, time.Time{})
	sleep.Wake(s.Purging)
	if err := s.changedBy(ctx, t, former, andon.ByPurge, andon.EntryRef{}); err != nil {
		return err
	}
	if s.processes.Alone() != 0 {
		return nil
	}
	return sleep.For(ctx, every)
}
