package dynamostore

import (
	"context"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// count takes in what is known of a device. Versions only rise, so they serve as the times by which
// Counts decides what is newer.
func (s *Store) count(d *device) {
	key, over := andon.EventKey{Time: andon.Time(d.Version), State: d.State}, andon.Time(0)
	if !d.Alive() {
		over = key.Time
	}
	s.counts.Raise(d.Tenant.Key, 0, d.ID, key, over, d.Received)
}

// countAll reads all devices, with eventual reads: what is missed is older than what this process
// wrote, or is counted the next time. Then it appends to the feed what processes left, and ends
// purges.
func (s *Store) countAll(ctx context.Context) error {
	left := unfinished{store: s, devices: map[string][]*device{}}
	err := s.scan(ddb.Eventually(ctx), func(d *device) error {
		if d.Version != 0 {
			s.count(d)
			left.add(d)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.counts.Done()
	if err = left.finishAll(ctx); err == nil {
		err = s.Each(ctx, func(t *tenant) error { return s.Logs.Tend(ctx, t) })
	}
	if err != nil && ctx.Err() == nil {
		s.options.Log.Warn("what other processes left is not in the feed, or not purged, yet",
			"error", err)
	}
	return ctx.Err()
}

func (s *Store) scan(ctx context.Context, each func(d *device) error) error {
	return s.scanFrom(ctx, "", ddb.MaxPage, each, func(string) error { return nil })
}

// scanFrom is scan of the devices after one, by its key; "" is before all. done is called with the
// key of the last device after each page but the last. Each is given devices whose tenant has a key
// alone, and of a damaged one what items.DecodeDevice has of it, so that it stops nothing that is
// about others. Items of other programs are left out.
func (s *Store) scanFrom(
	ctx context.Context, last string, page int, each func(d *device) error,
	done func(last string) error,
) error {
	for {
		var after ddb.Item
		if last != "" {
			after = ddb.Item{items.AttrDevice: ddb.Text(last)}
		}
		found, next, err := s.db.Scan(ctx, items.TableDevices, after, page)
		if err != nil {
			return err
		}
		for _, i := range found {
			key := i.Text(items.AttrDevice)
			of, id := items.SplitDevice(key)
			if id.Validate() != nil || items.DeviceKey(of, id) != key {
				continue
			}
			d, err := items.DecodeDevice(&tenant{Key: of}, id, i)
			if err != nil {
				s.noteDamage(key, err)
			}
			if err := each(d); err != nil {
				return err
			}
		}
		if last = next.Text(items.AttrDevice); last == "" {
			return nil
		}
		if err := done(last); err != nil {
			return err
		}
	}
}

// noteDamage tells of a damaged item of Devices, once.
func (s *Store) noteDamage(key string, err error) {
	if _, told := s.damaged.LoadOrStore(items.TableDevices+" "+key, true); !told {
		s.options.Log.Error("an item of table Devices is damaged: its device is not counted, its "+
			"entries are not swept, and requests that need it are refused",
			"key", key, "error", err)
	}
}

// Damage implements andon.Maintenance: it names items, by their table and key.
func (s *Store) Damage() (all []string) {
	s.damaged.Range(func(item, _ any) bool {
		all = append(all, item.(string))
		return true
	})
	slices.Sort(all)
	return all
}
