package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/shared/changelog"
)

// The put that changes what a device shows puts the change into the item of the device, too. It is
// then appended to the tenant's log, and the next put drops it from the item. A process that reads
// it in an item appends it before it puts anything: perhaps the process that put it ended.

// pending is a change that may not be in the log yet. What the device shows since, and the version,
// are those of its item.
type pending struct {
	From   uint64           `json:"from"`
	Kind   andon.ChangeKind `json:"kind"`
	Entry  andon.EntryRef   `json:"entry,omitzero"`
	Before *andon.Device    `json:"before,omitempty"`
}

const attrPending = "Change"

// logItems keeps the items of the log in the table Records.
type logItems struct{ *Store }

func numberText(number uint64) string { return fmt.Sprintf("%020d", number) }

// Insert implements changelog.Store.
func (s logItems) Insert(
	ctx context.Context, partition string, i changelog.Item,
) (inserted bool, err error) {
	err = s.db.Put(ctx, tableRecords, logItem(partition, i), ddb.Absent(attrKey))
	if errors.Is(err, ddb.ErrRaced) {
		return false, nil
	}
	return err == nil, err
}

func logItem(partition string, i changelog.Item) ddb.Item {
	put := recordKeys().Item("change#"+partition, numberText(i.Number))
	put[attrAt], put[attrData] = ddb.Number(i.At), ddb.Binary(i.Data)
	if i.Expires != 0 {
		put[attrTTL] = ddb.Number(i.Expires.Std().Unix())
	}
	return put
}

// Extend implements changelog.Store.
func (s logItems) Extend(ctx context.Context, partition string, i changelog.Item) error {
	return s.db.Write(ctx, ddb.Write{Table: tableRecords, Put: logItem(partition, i)})
}

// Read implements changelog.Store.
func (s logItems) Read(
	ctx context.Context, partition string, from uint64, limit int,
) ([]changelog.Item, error) {
	q := s.record("change#" + partition)
	q.Order, q.From, q.Page = andon.Asc, numberText(from), limit
	return s.items(ctx, q)
}

// Newest implements changelog.Store.
func (s logItems) Newest(
	ctx context.Context, partition string, limit int,
) ([]changelog.Item, error) {
	q := s.record("change#" + partition)
	q.Order, q.Page = andon.Desc, limit
	return s.items(ctx, q)
}

func (s logItems) items(ctx context.Context, q ddb.Query) (all []changelog.Item, err error) {
	found, _, err := s.db.Page(ddb.Strongly(ctx), q, nil)
	for _, i := range found {
		one := changelog.Item{At: i.Time(attrAt), Data: i.Binary(attrData)}
		if seconds := i.Int(attrTTL); seconds != 0 {
			one.Expires = andon.TimeOf(time.Unix(seconds, 0))
		}
		if one.Number, err = strconv.ParseUint(i.Text(attrSort), 10, 64); err != nil {
			return nil, andon.Errorf(andon.Damaged, "an item of changes has the number %q",
				i.Text(attrSort))
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
	q := s.record("change#" + partition)
	q.To = numberText(before - 1)
	return s.db.DeleteAll(ctx, q)
}

// shown returns what a device shows; nil: nothing.
func (d *device) shown(t *tenant) *andon.Device {
	if !d.Alive() {
		return nil
	}
	is := d.Show(t.Record.States)
	return &is
}

// notePending notes in a device how it has changed since it showed something else.
func (s *Store) notePending(
	ctx context.Context, t *tenant, is *device, before *andon.Device, kind andon.ChangeKind,
) error {
	is.pending = nil
	if andon.ShowAlike(before, is.shown(t)) {
		return nil
	}
	if kind == andon.ByEntry && is.cause == (andon.EntryRef{}) {
		kind = andon.ByReorder // the entries made no difference
	}
	from, err := s.Logs.Of(t).Next(ctx)
	is.pending = &pending{From: from, Kind: kind, Entry: is.cause, Before: before}
	return err
}

// appendPending appends the change that a device carries to the log, unless it is there.
func (s *Store) appendPending(ctx context.Context, t *tenant, d *device) error {
	p := d.pending
	if p == nil {
		return nil
	}
	err := s.Logs.Of(t).Append(ctx, changelog.Change{
		From: p.From, Version: d.version, Change: andon.Change{
			Kind: p.Kind, Device: d.ID, Before: p.Before, After: d.shown(t), Entry: p.Entry,
		},
	})
	if err == nil {
		d.pending = nil
	}
	return err
}

// abandonedAfter is how old a change in an item is that the scan of all devices appends: its
// process has long done that, or has ended.
const abandonedAfter = 10 * time.Second

// unappended collects the devices of a scan whose items carry a change.
type unappended struct {
	store   *Store
	devices map[string][]*device // by the key of their tenant
}

func (u *unappended) add(tenant string, d *device) {
	age := u.store.options.Now().Sub(andon.Time(d.version))
	if d.pending != nil && age.Std() > abandonedAfter {
		u.devices[tenant] = append(u.devices[tenant], d)
	}
}

// appendAll appends the changes that processes left behind. A device whose change is older than a
// recount is put without it, so that no one has to look far back in the log.
func (u *unappended) appendAll(ctx context.Context) error {
	s := u.store
	for key, devices := range u.devices {
		t, err := s.tenant(ctx, tenantOf(key))
		if andon.KindOf(err) == andon.NotFound || err == nil && t.Key != key {
			continue // it was deleted
		}
		for _, d := range devices {
			age := s.options.Now().Sub(andon.Time(d.version)).Std()
			if err == nil {
				err = s.appendPending(ctx, t, d)
			}
			if err == nil && age > s.options.Recount {
				err = s.dropPending(ctx, t, d)
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
func (s *Store) dropPending(ctx context.Context, t *tenant, was *device) error {
	if !was.Known() {
		return nil
	}
	return s.withDevice(ctx, t, was.ID, andon.ByReorder, func(_ *tenant, d *device) (bool, error) {
		return d.version == was.version, nil
	})
}

// tendTenants keeps the logs of all tenants, and appends what processes left behind.
func (s *Store) tendTenants(ctx context.Context) error {
	all, err := s.Tenants(ctx)
	for _, record := range all {
		var t *tenant
		if err == nil {
			t, err = s.tenant(ctx, record.ID)
		}
		if andon.KindOf(err) == andon.NotFound {
			err = nil
			continue
		}
		if err == nil {
			err = s.Logs.Tend(ctx, t)
		}
	}
	return err
}
