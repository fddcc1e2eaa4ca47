package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
)

// A store of format 6 or older has a key for each reading for good, and they become blocks when it
// is opened. Each batch has blocks and deletes the keys that they were made from, so it can be
// broken off, and the next opening goes on with the keys that there are.

// convertReadings converts the readings of all tenants.
func (s *Store) convertReadings(ctx context.Context) error {
	for _, t := range s.everyTenant() {
		if err := s.convertReadingsOf(ctx, t); err != nil {
			return fmt.Errorf("convert the readings of tenant %s: %w", t.record.Load().ID, err)
		}
	}
	return nil
}

func (s *Store) convertReadingsOf(ctx context.Context, t *tenant) error {
	prefix := newKey(formerReading, t.number)
	it, err := newIterator(ctx, s.db, prefix, prefix.end())
	if err != nil {
		return err
	}
	defer it.close()
	if !it.First() {
		return it.Error()
	}
	c := readingConversion{store: s, tenant: t, batch: s.db.NewBatch(), from: bytes.Clone(prefix)}
	defer func() { _ = c.batch.Close() }()
	// Sequence 0: every later delivery stands above these.
	c.round = readingRound{store: s, key: newKey(0, 0), put: func(k key, value []byte) error {
		return c.batch.Set(k, value, nil)
	}, from: t}
	for ok := true; ok; ok = it.Next() {
		if err := c.row(ctx, it, len(prefix)); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return err // these are not all
	}
	if err := c.round.flush(); err != nil {
		return err
	}
	if err := c.commit(prefix.end()); err != nil {
		return err
	}
	s.reclaim.spans = append(s.reclaim.spans, span{prefix, prefix.end()})
	return s.sync()
}

// readingConversion makes blocks of the readings of former tables.
type readingConversion struct {
	store  *Store
	tenant *tenant
	round  readingRound
	batch  *pebble.Batch
	from   key // of what the batch is made from
}

// row takes in a reading. Those of a device and day stand one behind the other, newest first.
func (c *readingConversion) row(ctx context.Context, it *iterator, prefix int) error {
	day, rest, whole := takeNumber(it.Key()[prefix:])
	device, rest, named := takeText(rest)
	at, rest, timed := takeInvertedTime(rest)
	if !whole || !named || !timed || len(rest) != 0 {
		return errDamaged
	}
	of := readingDay{tenant: c.tenant.number, day: day, device: andon.DeviceID(device)}
	if of != c.round.of {
		if err := c.round.flush(); err != nil {
			return err
		}
		if c.batch.Len() >= c.store.options.part {
			behind := newKey(formerReading, of.tenant).number(day).text(device)
			if err := cmp.Or(c.commit(behind), ctx.Err()); err != nil {
				return err
			}
			c.store.options.Log.Info("the readings are converted to a new format",
				"tenant", c.tenant.record.Load().ID, "day", andon.DayStart(day).String())
		}
		c.round.of = of
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return fmt.Errorf("read reading: %w", err)
	}
	return c.round.add(at, value)
}

// commit writes what has come together, and deletes what it was made from.
func (c *readingConversion) commit(behind key) error {
	err := cmp.Or(c.batch.DeleteRange(c.from, behind, nil), c.batch.Commit(pebble.NoSync))
	_ = c.batch.Close()
	c.batch, c.from = c.store.db.NewBatch(), bytes.Clone(behind)
	return err
}
