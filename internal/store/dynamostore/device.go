package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
)

type slots = shared.Taken[device]

// give gives slots back. What is known of a device must not keep a former document of its tenant.
func give(taken *slots) {
	for _, slot := range taken.Slots {
		if slot.View != nil {
			slot.View.Tenant = nil
		}
	}
	taken.Give()
}

// fill reads the devices whose slots are empty. The others are of the tenant as it is now, too.
func (s *Store) fill(ctx context.Context, t *tenant, taken *slots) error {
	var missing []andon.DeviceID
	at := map[andon.DeviceID]int{}
	for i, slot := range taken.Slots {
		if slot.View == nil {
			at[slot.Key.Device] = i
			missing = append(missing, slot.Key.Device)
		} else {
			slot.View.Tenant = t
		}
	}
	found, err := s.readDevices(ctx, t, missing)
	if err != nil {
		return err
	}
	for _, d := range found {
		taken.Slots[at[d.ID]].View = d
	}
	return nil
}

// readDevices reads devices as they are now, each named once, in the order in which they are named.
func (s *Store) readDevices(
	ctx context.Context, t *tenant, ids []andon.DeviceID,
) ([]*device, error) {
	all := make([]*device, len(ids))
	at := map[andon.DeviceID]int{}
	keys := make([]ddb.Item, len(ids))
	for i, id := range ids {
		at[id], keys[i] = i, items.DevicesKey(t.Key, id)
		all[i], _ = items.DecodeDevice(t, id, nil)
	}
	found, err := s.db.BatchGet(ctx, items.TableDevices, keys)
	for _, i := range found {
		_, id := items.SplitDevice(i.Text(items.AttrDevice))
		if all[at[id]], err = items.DecodeDevice(t, ids[at[id]], i); err != nil {
			return nil, err
		}
	}
	return all, err
}

func (s *Store) readDevice(ctx context.Context, t *tenant, id andon.DeviceID) (*device, error) {
	all, err := s.readDevices(ctx, t, []andon.DeviceID{id})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// find returns a device as it is now.
func (s *Store) find(
	ctx context.Context, tenant andon.TenantID, id andon.DeviceID,
) (*device, error) {
	t, err := s.tenant(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return s.readDevice(ctx, t, id)
}

// listOfDevice yields what walk yields of a device.
func listOfDevice[T any](
	ctx context.Context, s *Store, tenant andon.TenantID, id andon.DeviceID,
	walk func(d *device, yield func(T) bool) error,
) iter.Seq2[T, error] {
	return seq.From(func() (*device, error) { return s.find(ctx, tenant, id) }, walk)
}

// present folds a device again that was folded by earlier severities.
func (s *Store) present(ctx context.Context, d *device) error {
	if d.Version == 0 || d.Generation >= d.Tenant.Generation {
		return nil
	}
	return s.history(ctx, d).refold()
}

// update applies a change to a device, again until no other writer is faster. change is called with
// the device as it is, and changes it. It returns whether there is anything to put. What the device
// shows differently since is in the feed once update returns nil, as a change of a kind.
func (s *Store) update(
	ctx context.Context, t *tenant, slot *shared.Slot[device], kind andon.ChangeKind,
	change func(d *device) (put bool, err error),
) error {
	return s.db.Again(ctx, ddb.ErrRaced, "PutItem", items.TableDevices, func() (err error) {
		if slot.View == nil {
			if slot.View, err = s.readDevice(ctx, t, slot.Key.Device); err != nil {
				return err
			}
		}
		slot.View.Tenant = t
		if slot.View.Generation > t.Generation {
			return errOldSeverities
		}
		if err := s.appendPending(ctx, slot.View); err != nil {
			return err
		}
		is := slot.View.Clone()
		if err := s.present(ctx, is); err != nil {
			return err
		}
		put, err := change(is)
		if err != nil || !put {
			return err
		}
		s.reindexed(slot.View, is)
		err = s.notePending(ctx, is, slot.View.Shown(), kind)
		if err == nil {
			err = s.putDevice(ctx, slot.View.Version, is)
		}
		if slot.View = nil; err != nil {
			return err
		}
		slot.View = is
		s.count(is)
		return s.appendPending(ctx, is)
	})
}

// putDevice puts a device over the version that was read. A new item begins with a version that
// none before it had. That of a purged device is in no list, and expires once its rows are gone.
func (s *Store) putDevice(ctx context.Context, was int64, d *device) error {
	d.Generation = d.Tenant.Generation
	d.Version = max(was+1, s.stamp())
	i, err := d.Item(d.Version)
	if err != nil {
		return err
	}
	if d.Purged() {
		delete(i, items.AttrList)
		if len(d.Former) == 0 {
			i[items.AttrTTL] = ddb.Number(s.now().Add(tombstone).Unix())
		}
	}
	c := ddb.Absent(items.AttrDevice)
	if was != 0 {
		c = ddb.Unchanged(items.AttrVersion, was)
	}
	err = s.db.Swap(ctx, items.TableDevices, items.DevicesKey(d.Tenant.Key, d.ID), i, c)
	if andon.KindOf(err) == andon.Invalid {
		err = fmt.Errorf("device %q, whose item names the %d states that it has had: %w", d.ID,
			len(d.States), err)
	}
	return err
}

// errOldSeverities means that another process uses later severities than this one knows.
var errOldSeverities = errors.New("the severities were changed just now")

// following does something with a tenant's settings, again where those were changed meanwhile.
func (s *Store) following(
	ctx context.Context, id andon.TenantID, do func(*tenant) error,
) error {
	const doing = "follow changed severities in"
	return s.db.Again(ctx, errOldSeverities, doing, items.TableDevices, func() error {
		t, err := s.tenant(ctx, id)
		if err == nil {
			err = do(t)
		}
		if errors.Is(err, errOldSeverities) {
			s.Recent.Forget(id)
		}
		return err
	})
}

// withDevice updates one device as it is now.
func (s *Store) withDevice(
	ctx context.Context, t *tenant, id andon.DeviceID, kind andon.ChangeKind,
	change func(d *device) (put bool, err error),
) error {
	taken, err := s.devices.Take(ctx, t.Key, id)
	if err != nil {
		return err
	}
	defer give(taken)
	return s.following(ctx, t.Record.ID, func(t *tenant) error {
		taken.Forget()
		return s.update(ctx, t, taken.Slots[0], kind, change)
	})
}
