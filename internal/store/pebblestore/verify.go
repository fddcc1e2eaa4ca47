package pebblestore

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/checkpoint"
	"github.com/andonhq/andon/internal/store/pebblestore/directory"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/verify"
)

// Verify reads all of the store in dir, which no process may have open and which stays as it is,
// and reports what is damaged (package verify). rows is how many rows it has read of each table, by
// what they are. An error is that it could not go on.
func Verify(
	ctx context.Context, dir string, o Options,
	report func(place, what string), progress func(done, total int64),
) (rows map[string]int64, err error) {
	o.Log, o.pause = slog.New(slog.DiscardHandler), noPause
	d, err := closedStore(dir, &o)
	if err != nil {
		return nil, err
	}
	defer d.Release()
	if !d.Desc.Exists {
		return nil, andon.Errorf(andon.Invalid, "there is no store in %s", dir)
	}
	return verify.Run(ctx, verify.Config{
		FS: d.FS, Dir: dir, Desc: d.Desc, Report: report, Progress: progress,
		Options: d.Options, OpenError: d.OpenError, Store: &verified{options: o, dir: d},
	})
}

// noPause is no pause after damage is met.
const noPause = -1

type verified struct {
	options Options
	dir     *directory.Directory
	store   *Store
	tenants map[uint32]*tenant
}

var _ verify.Store = (*verified)(nil)

// Load implements verify.Store.
func (v *verified) Load(ctx context.Context, db *pebble.DB) (is verify.Loaded, err error) {
	is.Tenants, v.tenants = map[uint32]verify.Tenant{}, map[uint32]*tenant{}
	s := newStore(v.dir, db, v.options)
	v.store = s
	format, err := s.fixed(fixedFormat)
	if err != nil {
		return is, err
	}
	if len(format) != 4 || binary.BigEndian.Uint32(format) != formatVersion {
		return is, andon.Errorf(andon.Conflict, "the store is of another format than %d, which is "+
			"what this program reads: use the program that wrote it", formatVersion)
	}
	if err := s.loadTenants(); err != nil {
		return is, err
	}
	for _, t := range s.tenants {
		v.tenants[t.number] = t
	}
	// Rows of what can't be read are checked all the same.
	err = engine.Together(func() error { return s.rebuild(ctx) },
		func() error { return s.readings.Open(ctx) })
	is.Shown, is.Flushed = s.checkpoints.marker.Shown, s.checkpoints.marker.Flushed
	for number, t := range v.tenants { // now that their runs are known
		is.Tenants[number] = s.verifiedTenant(t)
	}
	is.FirstReadings = s.readings.First()
	is.Complete = err == nil
	return is, err
}

// CheckRow implements verify.Store.
func (v *verified) CheckRow(row []byte) error {
	return checkpoint.CheckRow(row, func(number uint32) bool { return v.tenants[number] != nil })
}

func (s *Store) verifiedTenant(t *tenant) verify.Tenant {
	runs := func(l *blocks.Log, of *blocks.Tenant) verify.Runs {
		list := of.Runs.Load()
		dropped := func(day uint32, id layout.RunID) bool { return l.IsDropped(t.number, day, id) }
		return verify.Runs{Days: list.Days(), On: list.On, Dropped: dropped}
	}
	return verify.Tenant{
		ID: t.record.Load().ID, Floor: t.record.Load().Floor, States: t.seen(),
		Device:  t.fleet.Device,
		Entries: runs(s.log.Log, t.entries), Readings: runs(s.readings.Log, t.readings),
	}
}

// Devices implements verify.Store.
func (v *verified) Devices(
	ctx context.Context, report func(device andon.DeviceID, what string),
	progress func(done, total int),
) (n int64, err error) {
	total, done := 0, 0
	for _, t := range v.tenants {
		total += int(t.fleet.Numbers())
	}
	for _, number := range slices.Sorted(maps.Keys(v.tenants)) {
		t := v.tenants[number]
		for from := uint32(0); from < t.fleet.Numbers(); from += reorderStep {
			some, err := v.someDevices(ctx, t, from, report)
			if n += some; err != nil {
				return n, err
			}
			done += reorderStep
			progress(min(done, total), total)
		}
	}
	return n, nil
}

func (v *verified) someDevices(
	ctx context.Context, t *tenant, from uint32, report func(device andon.DeviceID, what string),
) (n int64, err error) {
	w := v.store.beginWrite(ctx, t, 0, reorderStep, 0)
	w.alone = true
	defer w.close()
	for slot := range t.fleet.Slots(from, reorderStep) {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		n++
		d := w.changes.Copy(t.fleet, slot, t.fleet.ID(slot.Number()))
		was := *d
		w.past.begin(d, &folded{})
		err := w.refoldFromLog(d, func(e andon.EntryRef) bool {
			return t.withdrawn.Contain(d.ID, e.Time, e.State)
		})
		if err != nil {
			report(was.ID, fmt.Sprintf("its entries can't be read: %v", err))
			continue
		}
		parts := layout.ChangedParts(&was, d) & (layout.PartNewest | layout.PartRun |
			layout.PartIncident | layout.PartOperator)
		// Of a retired one nothing is shown, and opening goes on with a change of severities.
		if parts != 0 && was.Alive() && !t.record.Load().Reordering {
			report(was.ID, fmt.Sprintf("it shows %s since %s, newest entry %s, "+
				"operator %q; its entries say %s since %s, newest %s, operator %q",
				was.State, was.Since, was.Time, was.Operator,
				d.State, d.Since, d.Time, d.Operator))
		}
	}
	return n, nil
}
