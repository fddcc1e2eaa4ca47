package dynamostore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// withdrawalKey returns the key of the record that an entry was wrong.
func withdrawalKey(t *tenant, d *device, at andon.Time, state andon.State) ddb.Item {
	return recordKeys().Item("withdrawal#"+d.rows(t), stateDate(state, at))
}

// withdrawalMark returns its mark.
func withdrawalMark(t *tenant, d *device, ref andon.EntryRef) mark {
	return mark{"withdrawal#" + d.rows(t), ref}
}

// withdrawal reads that record; nil where there is none.
func (s *Store) withdrawal(
	ctx context.Context, t *tenant, d *device, at andon.Time, state andon.State,
) (*andon.Withdrawal, error) {
	i, err := s.db.Get(ctx, tableRecords, withdrawalKey(t, d, at, state))
	if err != nil || i == nil {
		return nil, err
	}
	return &andon.Withdrawal{
		Device: d.ID, Time: at, State: state, At: i.Time(attrAt),
		By: andon.PersonID(i.Text(attrBy)), Note: i.Text(attrNote),
	}, nil
}

// Withdraw implements andon.Corrections: the record first, then the device without the entry.
func (s *Store) Withdraw(
	ctx context.Context, id andon.TenantID, w andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return w, false, err
	}
	w.State = andon.State(strings.Clone(string(w.State)))
	err = s.withDevice(ctx, t, w.Device, andon.ByWithdrawal, func(
		t *tenant, d *device,
	) (bool, error) {
		if _, err := s.entry(ctx, t, d, w.Time, w.State); err != nil {
			return false, err
		}
		if !added {
			if kept, added, err = s.keepWithdrawal(ctx, t, d, w); err != nil {
				return false, err
			}
		}
		d.Withdrawn.add(w.Time)
		return true, s.history(ctx, t, d).refold()
	})
	return kept, added, err
}

// keepWithdrawal puts a record, unless there is one.
func (s *Store) keepWithdrawal(
	ctx context.Context, t *tenant, d *device, w andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	key := withdrawalKey(t, d, w.Time, w.State)
	i := withdrawalKey(t, d, w.Time, w.State)
	i[attrAt] = ddb.Number(w.At)
	i.SetText(attrBy, string(w.By))
	i.SetText(attrNote, w.Note)
	err = s.db.Swap(ctx, tableRecords, key, i, ddb.Absent(attrKey))
	if !errors.Is(err, ddb.ErrRaced) {
		return w, err == nil, err
	}
	there, err := s.withdrawal(ctx, t, d, w.Time, w.State)
	if err != nil || there == nil {
		return w, false, err
	}
	return *there, false, nil
}

// tombstone is how long the empty item of a purged device stays. A writer that wrote its rows
// before the purge finds the version changed, and writes them again.
const tombstone = 24 * time.Hour

// Purge implements andon.Corrections. The rows are deleted before the item is emptied, so that it
// can be repeated, and again after it. The next incarnation of the device has other keys.
func (s *Store) Purge(ctx context.Context, id andon.TenantID, device andon.DeviceID) error {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return err
	}
	taken, err := s.devices.Take(ctx, t.Key, device)
	if err != nil {
		return err
	}
	defer taken.Give()
	taken.Forget()
	for tries := 0; ; tries++ {
		err := s.purgeOnce(ctx, t, device)
		if !errors.Is(err, ddb.ErrRaced) {
			return err
		}
		if err := s.db.Pause(ctx, tries, "purge from", tableDevices); err != nil {
			return err
		}
	}
}

func (s *Store) purgeOnce(ctx context.Context, t *tenant, id andon.DeviceID) error {
	was, err := s.readDevice(ctx, t, id)
	if err != nil {
		return err
	}
	if !was.Known() {
		return andon.Errorf(andon.NotFound, "nothing is kept of device %q", id)
	}
	if err := s.appendPending(ctx, t, was); err != nil {
		return err
	}
	if err := s.deleteRows(ctx, t, was); err != nil {
		return err
	}
	version := max(was.version+1, s.stamp())
	is := &device{version: version}
	is.ID, is.Incarnation, is.Generation = id, version, t.Generation
	if err := s.notePending(ctx, t, is, was.shown(t), andon.ByPurge); err != nil {
		return err
	}
	i, err := is.item(t, version)
	if err != nil {
		return err
	}
	delete(i, attrList)
	i[attrTTL] = ddb.Number(s.options.Now().Std().Add(tombstone).Unix())
	unchanged := ddb.Unchanged(attrVersion, was.version)
	if err := s.db.Swap(ctx, tableDevices, devicesKey(t.Key, id), i, unchanged); err != nil {
		return err
	}
	s.count(t.Key, is)
	if err := s.appendPending(ctx, t, is); err != nil {
		return err
	}
	return s.deleteRows(ctx, t, was) // what was being written
}

// deleteRows deletes all rows of a device. Names stay: they may be in use elsewhere.
func (s *Store) deleteRows(ctx context.Context, t *tenant, d *device) error {
	of := d.rows(t)
	var all []ddb.Query
	for shard := range d.shards() {
		all = append(all,
			ddb.Query{Table: tableLog, Key: logKeys(), Partition: shardKey(of, shard)},
			ddb.Query{Table: tableReadings, Key: readingKeys(), Partition: shardKey(of, shard)})
	}
	for _, part := range []string{partEscalated, partEscalations} {
		all = append(all, ddb.Query{Table: tableLog, Key: logKeys(), Partition: join(of, part)})
	}
	for _, kind := range []string{"assignment#", "retirement#", "withdrawal#"} {
		all = append(all, s.record(kind+of))
	}
	for _, q := range all {
		if err := s.db.DeleteAll(ctx, q); err != nil {
			return err
		}
	}
	return nil
}
