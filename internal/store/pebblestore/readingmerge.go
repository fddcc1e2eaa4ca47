package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/readingblock"
)

// A device that sends little in the time of a round gets a small block in each. Blocks of one
// device and day are merged where there are mergeAt of about one size, so a reading is written
// again once for each time that its block has grown mergeAt fold: three times at most.
//
// A later delivery stands above an earlier one, by the sequences of their blocks. So only blocks
// are merged between whose sequences there is no other of the device and day, and all of one
// sequence together. The new block has the highest sequence of them.
const (
	mergeAt    = 8
	mergeTiers = 3  // of sizes: MaxBlock is mergeAt to the power of it
	mergeMost  = 64 // blocks at once, so that no merge takes much memory
)

// merging merges blocks of one tenant and day.
type merging struct {
	readingRound
	batch   *pebble.Batch
	blocks  *engine.Iterator
	decoder readingblock.Decoder
}

// mergeReadings merges the blocks of the days that got some since it was last called. The caller
// holds readingRows.running.
func (s *Store) mergeReadings(ctx context.Context) error {
	for of := range s.measure.loose {
		if err := s.mergeDay(ctx, of); err != nil {
			return fmt.Errorf("merge blocks of readings: %w", err)
		}
		delete(s.measure.loose, of)
	}
	return nil
}

func (s *Store) mergeDay(ctx context.Context, of engine.TenantDay) error {
	prefix := layout.NewKey(layout.TableReadingBlock, of.Tenant).Number(of.Day)
	it, err := engine.NewIterator(ctx, s.db, prefix, prefix.End())
	if err != nil {
		return err
	}
	defer it.Release()
	m := merging{batch: s.db.NewBatch()}
	m.readingRound = readingRound{
		store: s, key: layout.NewKey(0, 0), of: readingDay{tenant: of.Tenant, day: of.Day},
		put: func(k layout.Key, value []byte) error { return m.batch.Set(k, value, nil) },
	}
	defer func() { _ = m.batch.Close() }()
	if m.blocks, err = engine.NewIterator(ctx, s.db, prefix, prefix.End()); err != nil {
		return err
	}
	defer m.blocks.Release()
	for ok := it.First(); ok; {
		device, _, found := layout.TakeText(it.Key()[len(prefix):])
		if !found {
			return layout.ErrDamaged
		}
		m.of.device = andon.DeviceID(device)
		var all []sequenced
		if all, ok, err = blocksOf(it, of, m.of.device); err != nil {
			return err
		}
		if err := m.merge(toMerge(all)); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return err
	}
	return m.batch.Commit(pebble.NoSync)
}

// sequenced is the blocks of one device, day and sequence.
type sequenced struct {
	sequence uint64
	blocks   []layout.BlockSpan
	largest  int // readings of its largest block
}

// tier says of about which size the blocks are.
func (s *sequenced) tier() (tier int) {
	for most := mergeAt; s.largest >= most && tier < mergeTiers; most *= mergeAt {
		tier++
	}
	return tier
}

// blocksOf returns the blocks of a device and day, which the iterator is at, by their sequence.
func blocksOf(
	it *engine.Iterator, of engine.TenantDay, device andon.DeviceID,
) (all []sequenced, more bool, err error) {
	prefix := layout.NewKey(layout.TableReadingBlock, of.Tenant).Number(of.Day).Text(string(device))
	at := map[uint64]int{}
	for more = true; more && bytes.HasPrefix(it.Key(), prefix); more = it.Next() {
		b, ok := layout.SplitReadingBlock(it.Key()[len(prefix):], of.Day)
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, false, err
		}
		n, err := readingblock.Count(value)
		if err != nil || !ok {
			return nil, false, layout.ErrDamaged
		}
		i, known := at[b.Sequence]
		if !known {
			i = len(all)
			at[b.Sequence] = i
			all = append(all, sequenced{sequence: b.Sequence})
		}
		s := &all[i]
		s.blocks = append(s.blocks, b)
		s.largest = max(s.largest, n)
	}
	slices.SortFunc(all, func(a, b sequenced) int { return cmp.Compare(a.sequence, b.sequence) })
	return all, more, it.Error()
}

// toMerge returns which of the blocks of a device and day are to be merged, which stand by their
// sequence: mergeAt of one size, with the smaller ones between them. Full blocks stay, also where
// their readings were sent again.
func toMerge(all []sequenced) []sequenced {
	for tier := range mergeTiers {
		for from := 0; from < len(all); {
			n, like := 0, 0
			for ; from+n < len(all) && all[from+n].tier() <= tier; n++ {
				if all[from+n].tier() == tier {
					like++
				}
			}
			if like >= mergeAt {
				return few(all[from : from+n])
			}
			from += n + 1
		}
	}
	return nil
}

// few returns the first of blocks that are not too many to be merged at once, none where that would
// be a single sequence.
func few(all []sequenced) []sequenced {
	n, blocks := 0, 0
	for ; n < len(all); n++ {
		if blocks += len(all[n].blocks); blocks > mergeMost {
			break
		}
	}
	if n < 2 {
		return nil
	}
	return all[:n]
}

// merge writes blocks of a device and day as one, or as few as they fit into.
func (m *merging) merge(all []sequenced) error {
	if len(all) == 0 {
		return nil
	}
	page := dayPage{query: &andon.ReadingQuery{Order: andon.Desc}}
	for i := range all {
		m.of.sequence = all[i].sequence
		for _, b := range all[i].blocks {
			if err := m.read(&page, b); err != nil {
				return err
			}
		}
	}
	page.sort()
	for rest := joinParts(nil, page.parts, page.wanted); len(rest) > 0; {
		n, err := m.block(rest)
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	const part = 1 << 20
	if m.batch.Len() < part {
		return nil
	}
	err := m.batch.Commit(pebble.NoSync)
	_ = m.batch.Close()
	m.batch = m.store.db.NewBatch()
	return err
}

// read reads a block, and deletes it.
func (m *merging) read(page *dayPage, b layout.BlockSpan) error {
	m.key = m.key.Begin(layout.TableReadingBlock, m.of.tenant).
		ReadingBlock(m.of.day, m.of.device, b)
	if !m.blocks.SeekGE(m.key) || !bytes.Equal(m.blocks.Key(), m.key) {
		if err := m.blocks.Error(); err != nil {
			return err
		}
		return layout.ErrDamaged
	}
	value, err := m.blocks.ValueAndErr()
	if err != nil {
		return err
	}
	readings, err := m.decoder.Readings(value, b.Newest, readingblock.Wanted{})
	if err != nil {
		return layout.ErrDamaged
	}
	for i := range readings {
		page.take(readings[i], b.Sequence)
	}
	return m.batch.Delete(m.key, nil)
}
