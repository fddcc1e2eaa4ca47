package dynamostore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// withdrawal reads that record; nil where there is none.
func (s *Store) withdrawal(
	ctx context.Context, d *device, ref andon.EntryRef,
) (*andon.Withdrawal, error) {
	i, err := s.db.Get(ctx, items.TableRecords, items.Withdrawal(d, ref).Item())
	if err != nil || i == nil {
		return nil, err
	}
	return &andon.Withdrawal{
		Device: d.ID, Time: ref.Time, State: ref.State, At: i.Time(items.AttrAt),
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
	err = s.withDevice(ctx, t, w.Device, andon.ByWithdrawal, func(d *device) (bool, error) {
		ref := andon.EntryRef{Time: w.Time, State: w.State}
		if _, _, err := s.entry(ctx, d, ref); err != nil {
			return false, err
		}
		if !added {
			if kept, added, err = s.keepWithdrawal(ctx, d, w); err != nil {
				return false, err
			}
		}
		d.Withdrawn.Add(w.Time)
		return true, s.history(ctx, d).refold()
	})
	return kept, added, err
}

// keepWithdrawal puts a record, unless there is one.
func (s *Store) keepWithdrawal(
	ctx context.Context, d *device, w andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	ref := andon.EntryRef{Time: w.Time, State: w.State}
	of := items.Withdrawal(d, ref)
	i := of.Item()
	i[items.AttrAt] = ddb.Number(w.At)
	i.SetText(items.AttrBy, string(w.By))
	i.SetText(items.AttrNote, w.Note)
	err = s.db.Swap(ctx, items.TableRecords, of.Item(), i, ddb.Absent(items.AttrKey))
	if !errors.Is(err, ddb.ErrRaced) {
		return w, err == nil, err
	}
	there, err := s.withdrawal(ctx, d, ref)
	if err != nil || there == nil {
		return w, false, err
	}
	return *there, false, nil
}

// tombstone is how long the empty item of a purged device stays. A writer that wrote its rows
// before the purge finds the version changed, and writes them again.
const tombstone = 24 * time.Hour

// landedAfter is how long after something was stored no request can write that began before: with
// the calls that it left under way, and clocks that differ.
const landedAfter = 2 * time.Duration(andon.LongestRequest) * time.Microsecond

// Purge implements andon.Corrections. One put decides what is purged: the next incarnation of the
// device has other keys, so its rows before are not found any more, and are deleted then. What is
// left, or written by a slow request, is deleted by the scan of all devices (endPurge).
func (s *Store) Purge(ctx context.Context, id andon.TenantID, purged andon.DeviceID) error {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return err
	}
	var is device
	known := false // also where this call put it, and the answer was lost
	err = s.withDevice(ctx, t, purged, andon.ByPurge, func(d *device) (bool, error) {
		put := d.Known()
		if put {
			known = true
			d.Purge(max(d.Version+1, s.stamp()))
		}
		is = *d
		return put, nil
	})
	if err == nil {
		err = s.deleteFormer(ctx, &is)
	}
	if err == nil && !known {
		err = andon.Errorf(andon.NotFound, "nothing is kept of device %q", purged)
	}
	return err
}

func (s *Store) deleteFormer(ctx context.Context, d *device) error {
	for _, was := range d.Formerly() {
		if err := s.deleteRows(ctx, was); err != nil {
			return err
		}
	}
	return nil
}

// endsPurge reports whether a device was purged so long ago that no request can still write what
// would belong to it before. Its incarnation is the time of that.
func (s *Store) endsPurge(d *device) bool {
	age := s.options.Now().Sub(andon.Time(d.Incarnation)).Std()
	return len(d.Former) > 0 && age > landedAfter
}

// endPurge deletes what is left of the former incarnations of a device, and forgets them.
func (s *Store) endPurge(ctx context.Context, purged *device) error {
	if err := s.deleteFormer(ctx, purged); err != nil {
		return err
	}
	of := purged.Tenant
	return s.withDevice(ctx, of, purged.ID, andon.ByPurge, func(d *device) (bool, error) {
		before := len(d.Former)
		d.Former = slices.DeleteFunc(slices.Clone(d.Former), func(f items.Former) bool {
			return slices.Contains(purged.Former, f)
		})
		return len(d.Former) < before, nil
	})
}

// deleteRows deletes all rows of a device. Names stay: they may be in use elsewhere.
func (s *Store) deleteRows(ctx context.Context, d *device) error {
	of := d.Rows()
	var all []ddb.Query
	parts := d.Parts()
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
