package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Expire is of andon.Tenants. Events and readings go by the day, each with one range deletion.
// Their directories stand by device, so they lose a row a device and day.
func (s *Store) Expire(ctx context.Context, id andon.TenantID, h andon.Horizon) error {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return err
	}
	s.checkpoints.running.Lock() // a round would write blocks of what is deleted here
	defer s.checkpoints.running.Unlock()
	s.measure.running.Lock()
	defer s.measure.running.Unlock()
	defer s.merges.deleting()()
	s.merges.expired(t.number, h.Events.Day())
	t.forgetDays(h.Events.Day()) // first: if this is interrupted, no merge reads their blocks
	e := expiry{ctx: ctx, store: s, tenant: t.number, batch: s.db.NewBatch()}
	defer func() { _ = e.batch.Close() }()
	if err := errors.Join(e.events(h.Events.Day()), e.readings(h.Readings.Day())); err != nil {
		return err
	}
	if e.batch.Count() == 0 {
		return nil
	}
	if err := e.batch.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("expire: %w", err)
	}
	t.entered = nil
	for table, before := range map[byte]uint32{
		layout.TableBlock: h.Events.Day(), layout.TableReadingBlock: h.Readings.Day(),
	} {
		s.reclaim.want(
			engine.Span{From: layout.NewKey(table, t.number),
				To: layout.NewKey(table, t.number).Number(before)})
	}
	return nil
}

// expiry deletes the rows of whole days before a horizon.
type expiry struct {
	ctx    context.Context
	store  *Store
	tenant uint32
	batch  *pebble.Batch
}

func (e *expiry) events(before uint32) error {
	if before == 0 {
		return nil
	}
	hour := func(k layout.Key) layout.Key { return k.Number(before * 24) }
	instant := func(k layout.Key) layout.Key { return k.Time(andon.DayStart(before)) }
	return errors.Join(
		e.wholeDays(layout.TableBlock, before), e.wholeDays(layout.TableRun, before),
		e.blockDays(before),
		e.escalations(before),
		e.indexRows(layout.TablePosting, hour), e.indexRows(layout.TableSupervisor, instant),
		e.indexRows(layout.TableWithdrawal, instant),
	)
}

func (e *expiry) readings(before uint32) error {
	if before == 0 {
		return nil
	}
	err := errors.Join(e.wholeDays(layout.TableReadingBlock, before),
		e.directory(layout.TableReadingDay, before))
	for generation := range e.store.measure.kept() {
		k := layout.NewKey(layout.TableReading, e.tenant).Uint(generation, layout.SequenceBytes)
		behind := layout.Key(bytes.Clone(k)).Number(before)
		err = errors.Join(err, e.batch.DeleteRange(k.Number(0), behind, nil))
	}
	return err
}

func (e *expiry) wholeDays(table byte, before uint32) error {
	k := layout.NewKey(table, e.tenant)
	return e.batch.DeleteRange(k.Number(0), layout.NewKey(table, e.tenant).Number(before), nil)
}

// directory deletes the rows of days before one, device by device. Inverted days stand newest
// first, so those to go are the last of each device.
func (e *expiry) directory(table byte, before uint32) error {
	return e.owners(table,
		func(it *engine.Iterator, owner layout.Key) error { return e.days(it, owner, before) })
}

func (e *expiry) days(it *engine.Iterator, owner layout.Key, before uint32) error {
	owner = slices.Clip(owner)
	ok := it.SeekGE(owner.Inverted(before - 1))
	for ; ok && bytes.HasPrefix(it.Key(), owner); ok = it.Next() {
		if err := e.batch.Delete(it.Key(), nil); err != nil {
			return err
		}
	}
	return e.flush()
}

// blockDays is directory of tableDay, which stands by number.
func (e *expiry) blockDays(before uint32) error {
	prefix := layout.NewKey(layout.TableDay, e.tenant)
	it, err := engine.NewIterator(e.ctx, e.store.db, prefix, prefix.End())
	if err != nil {
		return err
	}
	defer it.Release()
	for ok := it.First(); ok; {
		number, _, whole := layout.TakeNumber(it.Key()[len(prefix):])
		if !whole {
			return layout.ErrDamaged
		}
		owner := layout.NewKey(layout.TableDay, e.tenant).Number(number)
		if err := e.days(it, owner, before); err != nil {
			return err
		}
		ok = it.SeekGE(owner.End())
	}
	return it.Error()
}

// escalations deletes those of entries before a day. They stand newest first.
func (e *expiry) escalations(before uint32) error {
	return e.owners(layout.TableEscalation, func(_ *engine.Iterator, owner layout.Key) error {
		from := layout.Key(bytes.Clone(owner)).InvertedTime(andon.DayStart(before) - 1)
		return e.batch.DeleteRange(from, owner.End(), nil)
	})
}

// indexRows deletes the rows of each person, or device, up to a key that stands where the time
// begins.
func (e *expiry) indexRows(table byte, until func(layout.Key) layout.Key) error {
	return e.owners(table, func(_ *engine.Iterator, owner layout.Key) error {
		return e.batch.DeleteRange(owner, until(bytes.Clone(owner)), nil)
	})
}

// owners calls visit for each text that the keys of a table have behind the tenant.
func (e *expiry) owners(table byte, visit func(*engine.Iterator, layout.Key) error) error {
	prefix := layout.NewKey(table, e.tenant)
	it, err := engine.NewIterator(e.ctx, e.store.db, prefix, prefix.End())
	if err != nil {
		return err
	}
	defer it.Release()
	for ok := it.First(); ok; {
		owner, _, found := layout.TakeText(it.Key()[len(prefix):])
		if !found {
			return layout.ErrDamaged
		}
		if err := visit(it, layout.NewKey(table, e.tenant).Text(owner)); err != nil {
			return err
		}
		ok = it.SeekGE(append(bytes.Clone(prefix), owner+string(layout.AfterText)...))
	}
	return it.Error()
}

// flush commits what has come together, so that no batch grows without end.
func (e *expiry) flush() error {
	if e.batch.Len() < 1<<20 {
		return nil
	}
	if err := e.batch.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("expire: %w", err)
	}
	_ = e.batch.Close()
	e.batch = e.store.db.NewBatch()
	return nil
}
