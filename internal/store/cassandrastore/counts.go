package cassandrastore

import (
	"context"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
)

// Counts implements andon.Current. It includes what other processes wrote before the last count of
// all devices began.
func (s *Store) Counts(
	ctx context.Context, id andon.TenantID, silentBefore andon.Time,
) ([]andon.StateCount, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.counts.Await(ctx); err != nil {
		return nil, err
	}
	return s.counts.States(t.Key, silentBefore), nil
}

// Regroup implements andon.Current. Devices are counted by their keys.
func (s *Store) Regroup(
	ctx context.Context, id andon.TenantID,
	of func(andon.DeviceID) uint32, devices []andon.DeviceID,
) error {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return err
	}
	keys := make([]andon.DeviceID, len(devices))
	for i, device := range devices {
		keys[i] = t.Purged.Key(device)
	}
	byKey := func(key andon.DeviceID) uint32 { return of(rows.IDOf(key)) }
	s.counts.Regroup(t.Key, byKey, keys)
	return nil
}

// countAll reads the newest entries of all devices in the order of tokens, in which the states of a
// device are next to each other, one page at a time.
func (s *Store) countAll(ctx context.Context) error {
	scan := &deviceScan{store: s, tenants: map[string]*rows.Tenant{}}
	for args := range cql.Ranges(scanRanges) {
		rows := cql.Pages(s.db, countRange, args, cql.PageRows, (*scanRow).columns)
		for r, err := range rows.Each(ctx) {
			if err == nil {
				err = scan.take(ctx, r)
			}
			if err != nil {
				return err
			}
		}
	}
	if err := scan.flush(ctx); err != nil {
		return err
	}
	if err := scan.prune(ctx); err != nil {
		return err
	}
	s.counts.Done()
	if scan.failed != nil {
		return scan.failed
	}
	return s.tendFeeds(ctx)
}

// scanRanges is how many parts of the ring are read, one after the other.
const scanRanges = 64

var countRange = cql.Query{Text: "SELECT tenant, device, state, time, retired, heard, " +
	"pending, writetime(pending) FROM latest_by_device WHERE " + cql.InRange}

type deviceScan struct {
	store   *Store
	tenants map[string]*rows.Tenant // by key; nil: it was deleted

	tenant, device string
	view           view

	failed error // why the feed could not be completed for a device
}

// scanRow is a row of any device, with a part of its columns.
type scanRow struct {
	tenant, device string
	viewRow
	view view
}

func (r *scanRow) columns() []any {
	return []any{&r.tenant, &r.device, &r.state, &r.time, &r.view.Retired, &r.view.Received,
		&r.pending, &r.pendingStamp}
}

func (d *deviceScan) take(ctx context.Context, r scanRow) error {
	if r.tenant != d.tenant || r.device != d.device {
		if err := d.flush(ctx); err != nil {
			return err
		}
		d.tenant, d.device, d.view = r.tenant, r.device, r.view
		r.unpack(&d.view)
	}
	d.view.take(r.state, r.time, false, merge.Content{})
	return nil
}

// flush counts the device that was read, and completes the feed where its write was left marked.
func (d *deviceScan) flush(ctx context.Context) error {
	if d.device == "" {
		return nil
	}
	s, device := d.store, andon.DeviceID(d.device)
	t, err := d.current(ctx, d.tenant)
	if t == nil {
		return err
	}
	there := len(d.view.States)+len(d.view.Withdrawn) > 0
	if there && s.tenants.purgedOf(t.Key).devices.Present(device) {
		s.counts.Raise(t.Key, d.view.Generation(t.Gen()), device,
			d.view.NewestKey(t.Record.States), d.view.Retired, d.view.Received)
	}
	if p := d.view.pending; p != nil && s.feeds && s.hasEnded(p) && d.failed == nil {
		_, d.failed = s.complete(ctx, t, device, p)
	}
	return nil
}

// prune forgets the counts of tenants and devices that were deleted.
func (d *deviceScan) prune(ctx context.Context) error {
	for _, key := range d.store.counts.Tenants() {
		t, err := d.current(ctx, key)
		if err != nil {
			return err
		}
		if t == nil {
			d.store.counts.Forget(key)
			continue
		}
		for device, before := range d.store.tenants.purgedOf(key).devices.Devices() {
			d.store.dropCounts(key, device, before) // others may have counted them
		}
	}
	return nil
}

// current returns the tenant of a key; nil if it was deleted.
func (d *deviceScan) current(ctx context.Context, key string) (*rows.Tenant, error) {
	if t, known := d.tenants[key]; known {
		return t, nil
	}
	id, _, _ := strings.Cut(key, "\t")
	t, err := d.store.tenant(ctx, andon.TenantID(id))
	if err != nil && andon.KindOf(err) != andon.NotFound {
		return nil, err
	}
	if err != nil || t.Key != key {
		t = nil
	}
	d.tenants[key] = t
	return t, nil
}
