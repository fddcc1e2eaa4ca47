package pebblestore

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/readingblock"
)

// A reading is first a row of its own, in the generation of now. When there are many, a round
// begins the next generation, writes the readings of the former ones as blocks of one device and
// day, and deletes those rows. docs/design/pebblestore.md says why no head is needed.

type readingRows struct {
	db *pebble.DB
	// turn is held for reading while rows are written, and alone while the next generation begins:
	// behind that all rows of the former one are on the disk.
	turn       engine.SharedLock
	generation atomic.Uint64 // of the rows that are written now
	settled    atomic.Uint64 // the rows of the generations before it are in blocks
	grown      atomic.Int64  // bytes of rows since the last round
	engine.Job
	// running is held by a round, and by who must not come between, as in checkpoints.
	running engine.Mutex
	loose   map[engine.TenantDay]bool // days with blocks that were not looked at for merging
	rounds  int
}

func (m *readingRows) start(s *Store) {
	m.Job.Start(func() {
		if err := s.settleReadings(); err != nil {
			s.options.Log.Error("readings were not settled in blocks; they stay in rows",
				"error", err)
		}
	})
	if m.grown.Load() >= s.options.readings || m.settled.Load()+1 < m.generation.Load() {
		m.Want() // with each generation a reader has more to look at
	}
}

// grow counts rows that were written, and asks for a round when there are enough.
func (m *readingRows) grow(s *Store, bytes int) {
	if m.grown.Add(int64(bytes)) >= s.options.readings {
		m.Want()
	}
}

// kept returns the generations that may have rows.
func (m *readingRows) kept() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		last := m.generation.Load()
		for g := m.settled.Load(); g <= last && yield(g); g++ {
		}
	}
}

// openReadings finds the generations. The next one begins: a round may have been at the last.
func (s *Store) openReadings(ctx context.Context) error {
	m := &s.measure
	m.loose = map[engine.TenantDay]bool{}
	first, err := s.fixed(fixedReadings)
	if err != nil {
		return err
	}
	m.settled.Store(1)
	if len(first) == 8 {
		m.settled.Store(binary.BigEndian.Uint64(first))
	}
	last := m.settled.Load() - 1
	for _, t := range s.tenants {
		k := layout.NewKey(layout.TableReading, t.number)
		it, err := engine.NewIterator(ctx, s.db, k, k.End())
		if err != nil {
			return err
		}
		if it.Last() {
			row, ok := layout.SplitReading(it.Key()[len(k):])
			if last = max(last, row.Generation); !ok {
				it.Fail(layout.ErrDamaged)
			}
		}
		err = it.Error()
		it.Release()
		if err != nil {
			return err
		}
	}
	m.generation.Store(last + 1)
	bytes, err := s.db.EstimateDiskUsage(layout.Key{layout.TableReading},
		layout.Key{layout.TableReading}.End())
	if err != nil {
		return fmt.Errorf("read store: %w", engine.ReadError(err))
	}
	m.grown.Store(int64(bytes))
	return nil
}

// loadSettled finds the time that no block of readings is behind. A round that was broken off may
// have left newer blocks: what they have is in rows as well.
func (s *Store) loadSettled(t *tenant) error {
	at, err := s.get(layout.FlushedReadingsKey(t.number))
	if err != nil {
		return err
	}
	if len(at) == 8 {
		t.settled.Store(int64(binary.BigEndian.Uint64(at)))
		return nil
	}
	k := layout.NewKey(layout.TableReadingBlock, t.number)
	it, err := engine.NewIterator(context.Background(), s.db, k, k.End())
	if err != nil {
		return err
	}
	defer it.Release()
	if it.Last() {
		day, _, _ := layout.TakeNumber(it.Key()[len(k):])
		t.settled.Store(int64(andon.DayStart(day+1) - 1))
	}
	return it.Error()
}

// settleReadings is a round: all readings that are in rows now come into blocks. A round that fails
// is done again with the same generations.
func (s *Store) settleReadings() error {
	m := &s.measure
	m.running.Lock()
	defer m.running.Unlock()
	err := m.freeze()
	if err != nil {
		return err
	}
	grown, tenants := m.grown.Load(), s.everyTenant()
	pace := s.options.pacing.Begin(func() bool { return m.grown.Load() > 2*s.options.readings })
	out := blocks.NewTables(s.env, blocks.ReadingTables, &pace)
	x := readingRound{store: s, put: out.Put, key: layout.NewKey(0, 0), pace: &pace}
	for _, t := range tenants {
		if err := x.tenant(t); err != nil {
			return err
		}
	}
	if err := out.End(); err != nil {
		return err
	}
	if err := x.mark(tenants); err != nil {
		return err
	}
	m.grown.Add(-grown)
	m.rounds++
	const rounds = 8 // between merges
	if m.rounds%rounds == 0 {
		if err := s.mergeReadings(context.Background()); err != nil {
			return err
		}
	}
	return s.env.ForgetRows(grown)
}

// freeze begins the next generation, unless a former one is not settled yet.
func (m *readingRows) freeze() error {
	if m.settled.Load() < m.generation.Load() {
		return nil
	}
	if err := m.turn.Lock(context.Background()); err != nil {
		return err
	}
	defer m.turn.Unlock()
	m.generation.Add(1)
	return nil
}

// readingRound writes the rows of the generations that are no longer written as blocks.
type readingRound struct {
	store    *Store
	put      func(k layout.Key, value []byte) error
	blocks   readingblock.Encoder
	from     *tenant
	of       readingDay
	readings []andon.Reading // of it, newest first
	key      layout.Key
	value    []byte
	pace     *engine.Pace
}

// readingDay is where a block stands.
type readingDay struct {
	tenant   uint32
	sequence uint64 // the generation
	day      uint32
	device   andon.DeviceID
}

func (x *readingRound) span(t *tenant) (from, behind layout.Key) {
	m := &x.store.measure
	return layout.NewKey(layout.TableReading, t.number).
			Uint(m.settled.Load(), layout.SequenceBytes),
		layout.NewKey(layout.TableReading, t.number).Uint(m.generation.Load(), layout.SequenceBytes)
}

func (x *readingRound) tenant(t *tenant) error {
	from, behind := x.span(t)
	it, err := engine.NewIterator(context.Background(), x.store.db, from, behind)
	if err != nil {
		return err
	}
	defer it.Release()
	x.from, x.of = t, readingDay{}
	for ok := it.First(); ok; ok = it.Next() {
		row, whole := layout.SplitReading(it.Key()[1+4:])
		if !whole {
			return layout.ErrDamaged
		}
		if row.Generation != x.of.sequence || row.Day != x.of.day ||
			string(row.Device) != string(x.of.device) {
			if err := x.flush(); err != nil {
				return err
			}
			x.of = readingDay{t.number, row.Generation, row.Day, andon.DeviceID(row.Device)}
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("read reading: %w", err)
		}
		if err := x.add(row.At, value); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return err // these are not all
	}
	return x.flush()
}

// add adds a reading, and writes the first block where there is enough for one.
func (x *readingRound) add(at andon.Time, value []byte) error {
	x.pace.Did(len(value))
	metrics, metadata, err := layout.ReadReading(value)
	if err != nil {
		return err
	}
	x.readings = append(x.readings,
		andon.Reading{Time: at, Metrics: metrics, Metadata: metadata})
	x.from.settled.Store(max(x.from.settled.Load(), int64(at))) // before a reader can see the block
	if len(x.readings) <= readingblock.MaxBlock {
		return nil
	}
	n, err := x.block(x.readings)
	x.readings = append(x.readings[:0], x.readings[n:]...)
	return err
}

// flush writes what is left of a device and day.
func (x *readingRound) flush() error {
	if len(x.readings) > 0 {
		x.store.measure.loose[engine.TenantDay{Tenant: x.of.tenant, Day: x.of.day}] = true
	}
	for rest := x.readings; len(rest) > 0; {
		n, err := x.block(rest)
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	clear(x.readings)
	x.readings = x.readings[:0]
	return nil
}

// block writes the first of readings as a block.
func (x *readingRound) block(readings []andon.Reading) (n int, err error) {
	n = readingblock.BlockOf(readings)
	x.value = x.blocks.Append(x.value[:0], readings[:n])
	x.key = x.key.Begin(layout.TableReadingBlock, x.of.tenant).
		ReadingBlock(x.of.day, x.of.device, layout.BlockSpan{
			Newest: readings[0].Time, Oldest: readings[n-1].Time, Sequence: x.of.sequence,
		})
	return n, x.put(x.key, x.value)
}

// mark ends a round: the rows are in blocks. The log is written in order, so what went into it
// before is on the disk as well.
func (x *readingRound) mark(tenants []*tenant) error {
	m, b := &x.store.measure, x.store.newBatch()
	defer b.Release()
	behind := m.generation.Load()
	b.Put(layout.FixedKey(fixedReadings), binary.BigEndian.AppendUint64(nil, behind))
	for _, t := range tenants {
		from, to := x.span(t)
		b.RemoveRange(from, to)
		b.Put(layout.FlushedReadingsKey(t.number),
			binary.BigEndian.AppendUint64(nil, uint64(t.settled.Load())))
	}
	if err := b.Write(pebble.Sync); err != nil {
		return fmt.Errorf("write the end of a round: %w", err)
	}
	m.settled.Store(behind)
	return nil
}
