package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/andonhq/andon"
)

// A store of format 5, 6 or 7 has the blocks of a day device by device, whichever round wrote them.
// Opening it makes one run of each day. Each step writes the blocks of some devices, and has the
// engine drop what they were made from when it takes them in. So it can be broken off, and the next
// opening goes on with what there is.

// convertBlocks converts the blocks of all tenants.
func (s *Store) convertBlocks(ctx context.Context) error {
	// The blocks are those of rounds up to the marker. A round that was broken off may have left
	// others, of entries that are in rows as well.
	c := blockConversion{store: s, key: newKey(0, 0), sequence: s.merges.settled[0]}
	for _, t := range s.everyTenant() {
		if err := c.tenant(ctx, t); err != nil {
			return fmt.Errorf("convert the blocks of tenant %s: %w", t.record.Load().ID, err)
		}
	}
	return nil
}

// blockConversion makes runs of the blocks of a former table.
type blockConversion struct {
	store    *Store
	sequence uint64
	of       *tenant
	day      uint32 // that has its run
	begun    bool
	from     key // of what the tables are made from
	out      tables
	joined   deliveries
	key      key
}

func (c *blockConversion) tenant(ctx context.Context, t *tenant) error {
	prefix := newKey(formerBlock, t.number)
	it, err := newIterator(ctx, c.store.db, prefix, prefix.end())
	if err != nil {
		return err
	}
	defer it.close()
	c.of, c.begun, c.from = t, false, prefix
	c.out = tables{store: c.store, name: mergeTables}
	for ok := it.First(); ok; {
		if ok, err = c.device(it, it.Key()[len(prefix):]); err != nil {
			return err
		}
		if ok && len(c.out.bytes) >= c.store.options.part {
			const device = 4 + 4 // day and number
			behind := bytes.Clone(it.Key()[:len(prefix)+device])
			if err := cmp.Or(c.ingest(behind), ctx.Err()); err != nil {
				return err
			}
			c.store.options.Log.Info("the store is converted to a new format",
				"tenant", t.record.Load().ID, "day", andon.DayStart(c.day).String())
		}
	}
	return cmp.Or(it.Error(), c.ingest(prefix.end()))
}

// device converts the blocks of a device and day, which the iterator is at.
func (c *blockConversion) device(it *iterator, at []byte) (more bool, err error) {
	day, rest, _ := takeNumber(at)
	number, _, whole := takeNumber(rest)
	if !whole {
		return false, errDamaged
	}
	prefix := newKey(formerBlock, c.of.number).number(day).number(number)
	c.joined.begin()
	for more = true; more && bytes.HasPrefix(it.Key(), prefix); more = it.Next() {
		// A block of readings has the same behind its device.
		at, whole := splitMeasured(it.Key()[len(prefix):], day)
		value, err := it.ValueAndErr()
		if err == nil && !whole {
			err = errDamaged
		}
		if err := cmp.Or(err, c.joined.take(value, at)); err != nil {
			return false, err
		}
	}
	if err := it.Error(); err != nil {
		return false, err // these are not all
	}
	if !c.begun || c.day != day {
		c.begun, c.day = true, day
		c.run()
	}
	return more, c.joined.blocks(func(at spanned, value []byte) error {
		c.key = c.key.begin(tableBlock, c.of.number).run(day, c.sequence).number(number).
			times(day, at.newest, at.oldest)
		c.out.add(c.key, value)
		return nil
	})
}

// run enters the run of a day.
func (c *blockConversion) run() {
	r := wholeDay(c.day, c.sequence)
	r.level = 1
	c.store.addRun(c.of, c.day, r)
	c.out.add(newKey(tableRun, c.of.number).run(c.day, c.sequence), r.value(c.day))
}

// ingest ends a step: what was made of it takes the place of what it was made from.
func (c *blockConversion) ingest(behind key) error {
	c.out.instead = span{c.from, behind}
	c.from = behind
	if len(c.out.bytes) == 0 {
		return nil
	}
	return c.out.ingest()
}
