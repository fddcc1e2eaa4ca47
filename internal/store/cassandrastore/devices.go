package cassandrastore

import (
	"context"
	"errors"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

type (
	slot  = shared.Slot[view]
	taken = shared.Taken[view]
)

// errPurged is the cause of an error of take.
var errPurged = errors.New("send it again")

// take waits for the slots of devices, whose keys are in order, and takes them until Give. It
// returns the tenant as it is after waiting: no other write of this process changes it for these
// devices until then. It is an error if the tenant was deleted, or one of the devices purged,
// meanwhile.
func (s *Store) take(
	ctx context.Context, t *rows.Tenant, ids ...andon.DeviceID,
) (*rows.Tenant, *taken, error) {
	slots, err := s.devices.Take(ctx, t.Key, ids...)
	if err != nil {
		return nil, nil, cql.Failure("wait for the device", err)
	}
	now, err := s.tenant(ctx, t.Record.ID)
	if err == nil && now.Key != t.Key {
		err = andon.NoTenant(t.Record.ID)
	}
	for _, id := range ids {
		if err == nil && !now.Purged.Present(id) {
			err = andon.Errorf(andon.Unavailable, "device %q was purged meanwhile: %w",
				rows.IDOf(id), errPurged)
		}
	}
	if err != nil {
		slots.Give()
		return nil, nil, err
	}
	return now, slots, nil
}

// mayWrite waits until this process may write.
func (s *Store) mayWrite(ctx context.Context) error {
	s.join()
	waited, err := s.processes.Wait(ctx)
	if waited && err == nil {
		s.staleTenants()
	}
	return err
}

// boundToOthers reports whether every process of the keyspace needs a majority of all replicas for
// its writes anyway.
func (s *Store) boundToOthers(ctx context.Context) (bool, error) {
	c := &cql.Cluster{Session: s.db}
	r, err := c.ReplicationOf(ctx, s.options.Keyspace)
	return s.immediate && len(r) == 1, err
}

// deviceWrite writes to a device, of which it is given the current key.
type deviceWrite func(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, slots *taken,
) error

// onDevice calls do for the current key of a device while no other write of this process changes
// the device. It is an error if this takes so long that other processes may have concluded
// something from not seeing the write.
func (s *Store) onDevice(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, do deviceWrite,
) error {
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	t, err := s.tenant(ctx, id)
	if err != nil {
		return err
	}
	key := t.Purged.Key(device)
	t, slots, err := s.take(ctx, t, key)
	switch {
	case errors.Is(err, errPurged):
		return s.onDevice(ctx, id, device, do)
	case err != nil:
		return err
	}
	defer slots.Give()
	defer slots.Forget() // it is another one now
	ctx, cancel := s.writing(ctx)
	defer cancel()
	began := s.processes.Now()
	if err := do(ctx, t, key, slots); err != nil {
		return err
	}
	return s.processes.InTime(began, 0)
}

// views reads the views that are older than age if other processes may write, and all of them if
// age is 0. It waits until this process may write: every write calls it first.
func (s *Store) views(
	ctx context.Context, tenant *rows.Tenant, t *taken, age time.Duration,
) error {
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	now := s.processes.Now()
	alone := s.processes.Alone()
	var stale []int
	for i, slot := range t.Slots {
		if !slot.View.fresh(alone, now, age) {
			stale = append(stale, i)
		}
	}
	return shared.Parallel(ctx, len(stale), func(ctx context.Context, n int) error {
		slot := t.Slots[stale[n]]
		began := s.processes.Now()
		v, err := s.readView(ctx, tenant, slot.Key.Device, s.feeds)
		if err == nil {
			v.read = began
			slot.View = v
		}
		return err
	})
}

// fromMemory is the step of a plan that sends no statement.
const fromMemory = "-- latest_by_device from memory: no other process writes to this keyspace"

// shown returns the view of a device with the content of its newest entry: from memory if no other
// process can have changed it. The caller owns it.
func (s *Store) shown(ctx context.Context, t *rows.Tenant, device andon.DeviceID) (*view, error) {
	now := s.processes.Now()
	alone := s.processes.Alone()
	if alone == 0 {
		return s.readView(ctx, t, device, true)
	}
	slot, giveBack := s.devices.Borrow(shared.DeviceKey{Tenant: t.Key, Device: device})
	if slot == nil { // it is being written to
		return s.readView(ctx, t, device, true)
	}
	defer giveBack()
	if slot.View.fresh(alone, now, 0) {
		v := *slot.View
		v.searched = false // nobody else writes to it now
		if n := v.Newest(t.Record.States); n == nil || n.Known {
			andon.PlanOf(ctx).Add(andon.PlanStep{Statement: fromMemory, Rows: 1})
			return &v, nil
		}
	}
	v, err := s.readView(ctx, t, device, true)
	if err != nil {
		return nil, err
	}
	own := *v
	own.read, own.pending, own.searched = now, nil, false
	if own.ForgetOlder(t.Record.States); own.small() {
		slot.View = &own
	}
	return v, nil
}

// isUnwritten reports whether no write to a device is in progress, and none has failed: this
// process is alone, and has a view of the device that no write holds.
func (s *Store) isUnwritten(t *rows.Tenant, device andon.DeviceID) bool {
	now, alone := s.processes.Now(), s.processes.Alone()
	if alone == 0 {
		return false
	}
	slot, giveBack := s.devices.Borrow(shared.DeviceKey{Tenant: t.Key, Device: device})
	if slot == nil {
		return false
	}
	defer giveBack()
	return slot.View.fresh(alone, now, 0)
}
