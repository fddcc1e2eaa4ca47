package dynamostore

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// count takes in what is known of a device. Versions only rise, so they serve as the times by which
// Counts decides what is newer.
func (s *Store) count(tenant string, d *device) {
	key, over := andon.EventKey{Time: andon.Time(d.version), State: d.State}, andon.Time(0)
	if !d.Alive() {
		over = key.Time
	}
	s.counts.Raise(tenant, 0, d.ID, key, over, d.Received)
}

// countAll reads all devices, with eventual reads: what is missed is older than what this process
// wrote, or is counted the next time.
func (s *Store) countAll(ctx context.Context) error {
	return s.scan(ddb.Eventually(ctx), func(tenant string, d *device) error {
		s.count(tenant, d)
		s.counts.Progress()
		return nil
	})
}

// scan reads all devices of all tenants, a page at a time.
func (s *Store) scan(ctx context.Context, each func(tenant string, d *device) error) error {
	var after ddb.Item
	for {
		found, next, err := s.db.Scan(ctx, tableDevices, after, ddb.MaxPage)
		if err != nil {
			return err
		}
		for _, i := range found {
			tenant, id := splitDevice(i.Text(attrDevice))
			d, err := decodeDevice(id, i)
			if err == nil {
				err = each(tenant, d)
			}
			if err != nil {
				return err
			}
		}
		if after = next; after == nil {
			return nil
		}
	}
}
