package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/readings"
)

// Expire implements andon.Tenants. Events and readings go by the day, with one range deletion each.
// Their directories are sorted by device, so they lose one row per device and day.
func (s *Store) Expire(ctx context.Context, id andon.TenantID, h andon.Horizon) error {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return err
	}
	return s.exclusively(func(d deletions) error { return s.expire(ctx, t, h, d) })
}

// deletions deletes from both logs.
type deletions struct {
	entries  *entries.Deletion
	readings *readings.Deletion
}

// exclusively calls do while neither entries nor readings are flushed.
func (s *Store) exclusively(do func(d deletions) error) error {
	return s.log.Exclusively(func(entries *entries.Deletion) error {
		return s.readings.Exclusively(func(readings *readings.Deletion) error {
			return do(deletions{entries, readings})
		})
	})
}

// holdMerges keeps merges of both logs from ending.
func (d *deletions) holdMerges() {
	d.entries.HoldMerges()
	d.readings.HoldMerges()
}

func (s *Store) expire(ctx context.Context, t *tenant, h andon.Horizon, d deletions) error {
	b := engine.NewBatch(s.db)
	defer func() { b.Release() }()
	e := expiry{ctx: ctx, store: s, tenant: t.number, batch: b}
	err := errors.Join(
		d.entries.Days(ctx, b, t.entries, h.Events.Day()), e.events(t, h.Events.Day()),
		d.readings.Days(ctx, b, t.readings, h.Readings.Day()),
	)
	if err != nil {
		return err
	}
	if b.Count() == 0 {
		return nil
	}
	if err := b.Write(pebble.Sync); err != nil {
		return fmt.Errorf("expire: %w", err)
	}
	for table, before := range map[byte]uint32{
		layout.TableBlock: h.Events.Day(), layout.TableReadingBlock: h.Readings.Day(),
	} {
		s.reclaimer.Add(pebble.KeyRange{
			Start: layout.NewKey(table, t.number),
			End:   layout.NewKey(table, t.number).Number(before),
		})
	}
	return nil
}

// expiry deletes the rows next to the entries of whole days before a horizon.
type expiry struct {
	ctx    context.Context
	store  *Store
	tenant uint32
	batch  *engine.Batch
}

func (e *expiry) events(t *tenant, before uint32) error {
	if before == 0 {
		return nil
	}
	hour := func(k layout.Key) layout.Key { return k.Number(before * 24) }
	instant := func(k layout.Key) layout.Key { return k.Time(andon.DayStart(before)) }
	return errors.Join(
		e.escalations(t, before),
		e.indexRows(layout.TablePosting, hour), e.indexRows(layout.TableSupervisor, instant),
		e.indexRows(layout.TableWithdrawal, instant),
	)
}

// escalations deletes those of entries before a day, but for those of a present incident: they
// outlive the entries, as all that a device shows does. They are sorted newest first.
func (e *expiry) escalations(t *tenant, before uint32) error {
	const name = 1 + 4 // after table and tenant
	return e.store.owners(e.ctx, layout.TableEscalation, e.tenant, func(owner layout.Key) {
		first, device := andon.DayStart(before), andon.DeviceID(owner[name:len(owner)-1])
		e.store.mu.RLock()
		if slot := t.fleet.Slot(device); slot != nil {
			latest := t.fleet.Latest(slot)
			first = andon.Earlier(latest.Incident, first)
		}
		e.store.mu.RUnlock()
		e.batch.RemoveRange(layout.Key(bytes.Clone(owner)).InvertedTime(first-1), owner.End())
	})
}

// indexRows deletes the rows of each person, or device, up to a key at which the time begins.
func (e *expiry) indexRows(table byte, until func(layout.Key) layout.Key) error {
	return e.store.owners(e.ctx, table, e.tenant, func(owner layout.Key) {
		e.batch.RemoveRange(owner, until(bytes.Clone(owner)))
	})
}

// owners calls visit for each text that the keys of a table have after the tenant.
func (s *Store) owners(
	ctx context.Context, table byte, tenant uint32, visit func(owner layout.Key),
) error {
	for name, err := range engine.Texts(ctx, s.db, layout.NewKey(table, tenant), "", false) {
		if err != nil {
			return err
		}
		visit(layout.NewKey(table, tenant).Text(name.Name))
	}
	return nil
}
