package dynamostore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/andonhq/andon"
)

// withdrawalKey is the key of the record that an entry was wrong.
func withdrawalKey(t *tenant, d *device, at andon.Time, state andon.State) item {
	return keyed(recordKeys(), "withdrawal#"+d.rows(t), stateDate(state, at))
}

// withdrawalMark names it among others.
func withdrawalMark(t *tenant, d *device, ref andon.EntryRef) mark {
	return mark{"withdrawal#" + d.rows(t), ref}
}

// withdrawal reads that record; nil where there is none.
func (s *Store) withdrawal(
	ctx context.Context, t *tenant, d *device, at andon.Time, state andon.State,
) (*andon.Withdrawal, error) {
	i, err := s.get(ctx, tableRecords, withdrawalKey(t, d, at, state))
	if err != nil || i == nil {
		return nil, err
	}
	return &andon.Withdrawal{
		Device: d.ID, Time: at, State: state, At: i.time(attrAt),
		By: andon.PersonID(i.text(attrBy)), Note: i.text(attrNote),
	}, nil
}

// Withdraw is of andon.Corrections: the record first, then the device without the entry.
func (s *Store) Withdraw(
	ctx context.Context, id andon.TenantID, w andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return w, false, err
	}
	w.State = andon.State(strings.Clone(string(w.State)))
	err = s.withDevice(ctx, t, w.Device, func(t *tenant, d *device) (bool, error) {
		if _, err := s.entry(ctx, t, d, w.Time, w.State); err != nil {
			return false, err
		}
		if !added {
			if kept, added, err = s.keepWithdrawal(ctx, t, d, w); err != nil {
				return false, err
			}
		}
		d.Withdrawn.add(w.Time)
		return true, s.past(ctx, t, d).refold()
	})
	return kept, added, err
}

// keepWithdrawal puts a record, unless there is one.
func (s *Store) keepWithdrawal(
	ctx context.Context, t *tenant, d *device, w andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	key := withdrawalKey(t, d, w.Time, w.State)
	i := withdrawalKey(t, d, w.Time, w.State)
	i[attrAt] = number(w.At)
	i.setText(attrBy, string(w.By))
	i.setText(attrNote, w.Note)
	err = s.swap(ctx, tableRecords, key, i, isAbsent(attrKey))
	if !errors.Is(err, errRaced) {
		return w, err == nil, err
	}
	there, err := s.withdrawal(ctx, t, d, w.Time, w.State)
	if err != nil || there == nil {
		return w, false, err
	}
	return *there, false, nil
}

// tombstone is for how long the item of a purged device stays, empty: a writer that had written its
// rows before finds the version changed, and writes them again.
const tombstone = 24 * time.Hour

// Purge is of andon.Corrections. The rows are deleted before the item is emptied, so that it can be
// repeated, and once more behind it. The next incarnation of the device has other keys.
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
		if !errors.Is(err, errRaced) {
			return err
		}
		if err := s.pause(ctx, tries, "purge from", tableDevices); err != nil {
			return err
		}
	}
}

func (s *Store) purgeOnce(ctx context.Context, t *tenant, id andon.DeviceID) error {
	was, err := s.lookAt(ctx, t, id)
	if err != nil {
		return err
	}
	if !was.Known() {
		return andon.Errorf(andon.NotFound, "nothing is kept of device %q", id)
	}
	if err := s.deleteRows(ctx, t, was); err != nil {
		return err
	}
	version := max(was.version+1, s.stamp())
	is := &device{version: version}
	is.ID, is.Incarnation, is.Generation = id, version, t.Generation
	i, err := is.item(t, version)
	if err != nil {
		return err
	}
	delete(i, attrList)
	i[attrTTL] = number(s.options.Now().Std().Add(tombstone).Unix())
	key := devicesKey(t.Key, id)
	if err := s.swap(ctx, tableDevices, key, i, isStill(attrVersion, was.version)); err != nil {
		return err
	}
	s.counted(t.Key, is)
	return s.deleteRows(ctx, t, was) // what was under way
}

// deleteRows deletes all rows of a device. Names stay: they may be in use elsewhere.
func (s *Store) deleteRows(ctx context.Context, t *tenant, d *device) error {
	of := d.rows(t)
	var all []question
	for shard := range d.shards() {
		all = append(all,
			question{table: tableLog, key: logKeys(), partition: shardKey(of, shard)},
			question{table: tableReadings, key: readingKeys(), partition: shardKey(of, shard)})
	}
	for _, part := range []string{partEscalated, partEscalations} {
		all = append(all, question{table: tableLog, key: logKeys(), partition: join(of, part)})
	}
	for _, kind := range []string{"assignment#", "retirement#", "withdrawal#"} {
		all = append(all, s.record(kind+of))
	}
	for _, q := range all {
		if err := s.deleteAll(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// deleteAll deletes what a question finds, page by page.
func (s *Store) deleteAll(ctx context.Context, q question) error {
	q.page = pageItems
	var behind item
	for {
		_, next, err := s.deletePage(ctx, q, behind)
		if err != nil || next == nil {
			return err
		}
		behind = next
	}
}

// deletePage deletes one page of what a question finds, from behind a key, and returns how many
// items that were; next is the key to go on behind, nil at the end.
func (s *Store) deletePage(
	ctx context.Context, q question, behind item,
) (n int, next item, err error) {
	found, next, err := s.ask(ctx, q, behind)
	if err != nil {
		return 0, nil, err
	}
	all := make([]write, len(found))
	for n, i := range found {
		key := item{q.key.hash: i[q.key.hash], q.key.sort: i[q.key.sort]}
		all[n] = write{table: q.table, remove: key}
	}
	return len(all), next, s.writeAll(ctx, all)
}
