package dynamostore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// withdrawal reads that record; nil where there is none.
func (s *Store) withdrawal(
	ctx context.Context, t *tenant, d *device, at andon.Time, state andon.State,
) (*andon.Withdrawal, error) {
	i, err := s.db.Get(ctx, items.TableRecords, items.WithdrawalKey(t, d, at, state))
	if err != nil || i == nil {
		return nil, err
	}
	return &andon.Withdrawal{
		Device: d.ID, Time: at, State: state, At: i.Time(items.AttrAt),
		By: andon.PersonID(i.Text(items.AttrBy)), Note: i.Text(items.AttrNote),
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
		if _, _, err := s.entry(ctx, t, d, w.Time, w.State); err != nil {
			return false, err
		}
		if !added {
			if kept, added, err = s.keepWithdrawal(ctx, t, d, w); err != nil {
				return false, err
			}
		}
		d.Withdrawn.Add(w.Time)
		return true, s.history(ctx, t, d).refold()
	})
	return kept, added, err
}

// keepWithdrawal puts a record, unless there is one.
func (s *Store) keepWithdrawal(
	ctx context.Context, t *tenant, d *device, w andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	key := items.WithdrawalKey(t, d, w.Time, w.State)
	i := items.WithdrawalKey(t, d, w.Time, w.State)
	i[items.AttrAt] = ddb.Number(w.At)
	i.SetText(items.AttrBy, string(w.By))
	i.SetText(items.AttrNote, w.Note)
	err = s.db.Swap(ctx, items.TableRecords, key, i, ddb.Absent(items.AttrKey))
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
	return s.db.Again(ctx, ddb.ErrRaced, "purge from", items.TableDevices, func() error {
		return s.purgeOnce(ctx, t, device)
	})
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
	version := max(was.Version+1, s.stamp())
	is := &device{Version: version}
	is.ID, is.Incarnation, is.Generation = id, version, t.Generation
	if err := s.notePending(ctx, t, is, was.Shown(t), andon.ByPurge); err != nil {
		return err
	}
	i, err := is.Item(t, version)
	if err != nil {
		return err
	}
	delete(i, items.AttrList)
	i[items.AttrTTL] = ddb.Number(s.options.Now().Std().Add(tombstone).Unix())
	unchanged := ddb.Unchanged(items.AttrVersion, was.Version)
	if err := s.db.Swap(ctx, items.TableDevices, items.DevicesKey(t.Key, id), i,
		unchanged); err != nil {
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
	of := d.Rows(t)
	var all []ddb.Query
	parts := d.Parts(t)
	for _, part := range parts {
		all = append(all, ddb.Query{Table: items.TableReadings, Key: items.ReadingKeys(),
			Partition: part})
	}
	for _, part := range append(parts, items.Join(of, items.PartEscalated),
		items.Join(of, items.PartEscalations)) {
		all = append(all, ddb.Query{Table: items.TableLog, Key: items.LogKeys(), Partition: part})
	}
	for _, kind := range []string{"assignment#", "retirement#", "withdrawal#"} {
		all = append(all, items.Records(kind+of))
	}
	return s.db.DeleteAll(ctx, all...)
}
