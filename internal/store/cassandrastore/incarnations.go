package cassandrastore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
)

// What a purged device sends again must not meet what is left of it. As with tenants (tenantKey),
// each incarnation of a device has a name of its own: the id, and from the second incarnation on a
// tab, which no id holds, and the number of incarnations before it. Inside the store a device is
// called by that name, in keys and in memory; the methods of andon.Store translate. Every process
// reads the list of purged devices again once a second, with the record of the tenant.

// purged are the devices of a tenant that were purged; nil where none was. It is never changed in
// place.
type purged struct {
	before map[andon.DeviceID]int // incarnations that are over
	newest int64                  // write timestamp of the newest row
}

func incarnationOf(device andon.DeviceID, before int) andon.DeviceID {
	if before == 0 {
		return device
	}
	return device + "\t" + andon.DeviceID(strconv.Itoa(before))
}

// idOf is the id of a device, whichever incarnation is named.
func idOf(device andon.DeviceID) andon.DeviceID {
	id, _, _ := strings.Cut(string(device), "\t")
	return andon.DeviceID(id)
}

// in names the present incarnation of a device.
func (p *purged) in(device andon.DeviceID) andon.DeviceID {
	if p == nil {
		return device
	}
	return incarnationOf(device, p.before[device])
}

// present reports whether an incarnation is not over.
func (p *purged) present(device andon.DeviceID) bool { return p.in(idOf(device)) == device }

// inAll names the present incarnations of the devices of items, which are left as they are.
func inAll[T any](p *purged, items []T, device func(*T) *andon.DeviceID) []T {
	again := func(item T) bool { return !p.present(*device(&item)) }
	if p == nil || !slices.ContainsFunc(items, again) {
		return items
	}
	items = slices.Clone(items)
	for i := range items {
		id := device(&items[i])
		*id = p.in(*id)
	}
	return items
}

func deviceOfEvent(e *andon.Event) *andon.DeviceID { return &e.Device }

// inQuery is a query whose cursor names the present incarnation.
func (t *tenant) inQuery(q andon.EventQuery) andon.EventQuery {
	if q.After != nil {
		after := *q.After
		after.Device = t.purged.in(after.Device)
		q.After = &after
	}
	return q
}

// outside is an entry under the id of its device.
func outside(e andon.Entry) andon.Entry {
	e.Device = idOf(e.Device)
	for i := range e.Escalations {
		e.Escalations[i].Device = e.Device
	}
	if e.Withdrawn != nil {
		e.Withdrawn.Device = e.Device
	}
	return e
}

// clockSkew is how far apart the clocks of processes may be, in µs, so that none misses a row.
const clockSkew = 10 * 60 * 1_000_000

// purgedNow returns the purged devices of a tenant, as its documents are: at most a second old.
func (s *Store) purgedNow(ctx context.Context, key string) (*purged, error) {
	began := s.now()
	s.tenants.mu.Lock()
	known, listed := s.tenants.purged[key], s.tenants.listed[key]
	s.tenants.mu.Unlock()
	if began.Sub(listed).Abs() < every {
		return known, nil
	}
	is, err := s.readPurged(ctx, key)
	if err == nil {
		s.tenants.wasListed(key, began)
	}
	return is, err
}

// readPurged reads what is new in the list of purged devices.
func (s *Store) readPurged(ctx context.Context, key string) (*purged, error) {
	was := s.tenants.purgedOf(key)
	from := int64(0)
	if was != nil {
		from = was.newest - clockSkew
	}
	var at int64
	var device string
	var before int
	is := &purged{before: map[andon.DeviceID]int{}}
	q := cql.Ask("SELECT at, device, before FROM purged_devices WHERE tenant = ? AND at >= ?", 1)
	err := s.db.Each(ctx, q, []any{key, from}, []any{&at, &device, &before}, func() {
		id := andon.DeviceID(device)
		is.newest, is.before[id] = max(is.newest, at), max(is.before[id], before)
	})
	if err != nil {
		return nil, err
	}
	return s.learnPurged(key, is), nil
}

// learnPurged joins what was read with what is known.
func (s *Store) learnPurged(key string, is *purged) *purged {
	all, added := s.tenants.learnPurged(key, is)
	for device, before := range added {
		s.dropCounts(key, device, before)
	}
	return all
}

// dropCounts forgets what was counted of incarnations that are over.
func (s *Store) dropCounts(key string, device andon.DeviceID, before int) {
	for n := range before {
		s.counts.Drop(key, incarnationOf(device, n))
	}
}

func (t *tenants) purgedOf(key string) *purged {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.purged[key]
}

// wasListed notes when the list of a tenant's purged devices was read.
func (t *tenants) wasListed(key string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listed[key] = at
}

func (t *tenants) learnPurged(
	key string, is *purged,
) (all *purged, added map[andon.DeviceID]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.purged[key]
	if was == nil {
		was = &purged{}
	}
	added = map[andon.DeviceID]int{}
	for device, n := range is.before {
		if n > was.before[device] {
			// A copy: the name may be a part of the request that purges.
			added[andon.DeviceID(strings.Clone(string(device)))] = n
		}
	}
	if len(added) == 0 {
		return t.purged[key], nil
	}
	all = &purged{before: map[andon.DeviceID]int{}, newest: max(was.newest, is.newest)}
	maps.Copy(all.before, was.before)
	maps.Copy(all.before, added)
	t.purged[key] = all
	return all, added
}

// Purge is of andon.Corrections. The next incarnation of the device begins, and the rows of the
// former one are given back in the background. It returns once every process goes by that: what one
// of them still writes began before.
func (s *Store) Purge(ctx context.Context, id andon.TenantID, device andon.DeviceID) error {
	ctx, end := s.within(ctx)
	defer end()
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	s.staleTenants() // another process may have purged it
	return s.onDevice(ctx, id, device, func(
		t *tenant, former andon.DeviceID, _ *taken,
	) error {
		known := false
		q := cql.Ask("SELECT device FROM devices_by_tenant WHERE tenant = ? AND bucket = ? "+
			"AND device = ?", 2)
		args := []any{t.Key, bucketOf(string(former)), string(former)}
		var row string
		err := s.db.Each(ctx, q, args, []any{&row}, func() { known = true })
		if err == nil && !known {
			err = andon.Errorf(andon.NotFound, "nothing is kept of device %q", device)
		}
		if err != nil {
			return err
		}
		return s.beginIncarnation(ctx, t, device)
	})
}

// beginIncarnation ends the present incarnation of a device.
func (s *Store) beginIncarnation(ctx context.Context, t *tenant, device andon.DeviceID) error {
	// Before, so that it is not forgotten; and after, since a purge may have found it too early.
	over := t.Key + "\x00" + string(t.purged.in(device))
	if err := s.markOver(ctx, over); err != nil {
		return err
	}
	at, before := s.stamp(), 1
	if t.purged != nil {
		before += t.purged.before[device]
	}
	err := s.db.Write(ctx, []cql.Mutation{cql.One(
		"INSERT INTO purged_devices (tenant, at, device, before) VALUES (?, ?, ?, ?) "+
			"USING TIMESTAMP ?", t.Key, at, string(device), before, at)})
	if err == nil {
		err = s.markOver(ctx, over)
	}
	if err != nil {
		return err
	}
	s.learnPurged(t.Key, &purged{before: map[andon.DeviceID]int{device: before}, newest: at})
	sleep.Wake(s.over)
	if s.processes.Alone(s.processes.now()) != 0 {
		return nil
	}
	return sleep.For(ctx, every)
}
