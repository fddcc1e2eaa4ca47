package dynamostore

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared/changelog"
)

// The put that changes what a device shows puts the change into the item of the device, too. It is
// then appended to the tenant's log, and the next put drops it from the item. A process that reads
// it in an item appends it before it puts anything: perhaps the process that put it ended.

type logItems struct{ *Store }

// Insert implements changelog.Store.
func (s logItems) Insert(
	ctx context.Context, partition string, i changelog.Item,
) (inserted bool, err error) {
	err = s.db.Put(ctx, items.TableRecords, items.LogItem(partition, i), ddb.Absent(items.AttrKey))
	if errors.Is(err, ddb.ErrRaced) {
		return false, nil
	}
	return err == nil, err
}

// Extend implements changelog.Store.
func (s logItems) Extend(ctx context.Context, partition string, i changelog.Item) error {
	return s.db.Write(ctx, ddb.Write{Table: items.TableRecords, Put: items.LogItem(partition, i)})
}

// Read implements changelog.Store.
func (s logItems) Read(
	ctx context.Context, partition string, from uint64, o andon.Order, limit int,
) (all []changelog.Item, err error) {
	q := items.Records("change#" + partition)
	q.Order, q.From, q.Page = o, items.NumberText(from), limit
	found, _, err := s.db.Page(ddb.Strongly(ctx), q, nil)
	for _, i := range found {
		one := changelog.Item{At: i.Time(items.AttrAt), Data: i.Binary(items.AttrData)}
		if seconds := i.Int(items.AttrTTL); seconds != 0 {
			one.Expires = andon.TimeOf(time.Unix(seconds, 0))
		}
		if one.Number, err = strconv.ParseUint(i.Text(items.AttrSort), 10, 64); err != nil {
			return nil, andon.Errorf(andon.Damaged, "an item of changes has the number %q",
				i.Text(items.AttrSort))
		}
		all = append(all, one)
	}
	return all, err
}

// Drop implements changelog.Store.
func (s logItems) Drop(ctx context.Context, partition string, before uint64) error {
	if before == 0 {
		return nil
	}
	q := items.Records("change#" + partition)
	q.To = items.NumberText(before - 1)
	return s.db.DeleteAll(ctx, q)
}

// notePending notes in a device how it has changed since it showed something else.
func (s *Store) notePending(
	ctx context.Context, is *device, before *andon.Device, kind andon.ChangeKind,
) error {
	is.Pending = nil
	if andon.ShowAlike(before, is.Shown()) {
		return nil
	}
	if kind == andon.ByEntry && is.Cause == (andon.EntryRef{}) {
		kind = andon.ByReorder // the entries made no difference
	}
	from, err := s.Logs.ForTenant(is.Tenant).Next(ctx)
	is.Pending = &items.Pending{From: from, Kind: kind, Entry: is.Cause, Before: before}
	return err
}

// appendPending appends the change that a device carries to the log, unless it is there.
func (s *Store) appendPending(ctx context.Context, d *device) error {
	p := d.Pending
	if p == nil {
		return nil
	}
	err := s.Logs.ForTenant(d.Tenant).Append(ctx, changelog.Change{
		From: p.From, Version: d.Version, Change: andon.Change{
			Kind: p.Kind, Device: d.ID, Before: p.Before, After: d.Shown(), Entry: p.Entry,
		},
	})
	if err == nil {
		d.Pending = nil
	}
	return err
}

// abandonedAfter is how old a change in an item is that the scan of all devices appends: its
// process has long done that, or has ended.
const abandonedAfter = 10 * time.Second

// unfinished collects the devices of a scan whose items carry a change, or that were purged.
type unfinished struct {
	store   *Store
	devices map[string][]*device // by the key of their tenant
}

func (u *unfinished) add(d *device) {
	age := u.store.options.Now().Sub(andon.Time(d.Version))
	if d.Pending != nil && age.Std() > abandonedAfter || u.store.endsPurge(d) {
		u.devices[d.Tenant.Key] = append(u.devices[d.Tenant.Key], d)
	}
}

// finishAll appends the changes that processes left, and ends purges. A device whose change is
// older than a recount is put without it, so that no one has to look far back in the log.
func (u *unfinished) finishAll(ctx context.Context) error {
	s := u.store
	for key, devices := range u.devices {
		t, err := s.tenant(ctx, items.TenantOf(key))
		if andon.KindOf(err) == andon.NotFound || err == nil && t.Key != key {
			continue // it was deleted
		}
		for _, d := range devices {
			age := s.options.Now().Sub(andon.Time(d.Version)).Std()
			if err == nil {
				d.Tenant = t
				err = s.appendPending(ctx, d)
			}
			if err == nil && s.endsPurge(d) {
				err = s.endPurge(ctx, d)
			} else if err == nil && age > s.options.Recount {
				err = s.dropPending(ctx, d)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// dropPending puts a device without the change that it carried when it was scanned. The empty item
// of a purged device expires soon.
func (s *Store) dropPending(ctx context.Context, was *device) error {
	if !was.Known() {
		return nil
	}
	return s.withDevice(ctx, was.Tenant, was.ID, andon.ByReorder, func(d *device) (bool, error) {
		return d.Version == was.Version, nil
	})
}
