package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/eventlog"
)

// A device that sends little in the time of a round gets a small block in each. So the blocks of a
// day are merged: all of one device become as few as they fit into. Some devices at a time, the new
// blocks go into a table that also deletes all that stood in its place: the engine takes both in at
// once, or nothing.
//
// A day is merged when it has blocks of mergeRounds rounds, then each time that these are twice as
// many, and at last when rounds no longer add to it. So an entry is written again twice for each
// time that mergeRounds rounds became more, halved each time: three times at most, and mostly once.
//
// It runs behind the marker of a round, whose sequence is the highest. A block that a round that is
// broken off leaves has a higher one, so it is never taken for what it is merged into.
const (
	mergeRounds = 16      // rounds that make a merge worth it
	restRounds  = 4       // ... of a day that has rest
	quietAt     = 8       // rounds that make a day one that has rest
	mergeBytes  = 4 << 20 // of blocks at once
	mostLoose   = 1024    // days that are remembered
)

// looseDay is a day of a tenant with blocks that are not merged. It is stored.
type looseDay struct {
	Tenant uint32 `json:"tenant"`
	Day    uint32 `json:"day"`
	Rounds int    `json:"rounds"`           // that gave it blocks since it was merged
	Merged int    `json:"merged,omitempty"` // that gave it blocks before
	Quiet  int    `json:"quiet,omitempty"`  // rounds since the last of them
	next   uint32 // the device at which a merge that has begun goes on
	begun  int    // Rounds when it began
}

func (d *looseDay) due() bool {
	return d.begun > 0 || d.Rounds >= max(mergeRounds, d.Merged) ||
		d.Quiet >= quietAt && d.Rounds >= restRounds
}

// merges is which days are to be merged. It belongs to rounds.
type merges struct {
	loose []looseDay
	// mu is held while a table is taken in, so that none comes behind the deletion of its day.
	mu      sync.Mutex
	expired map[uint32]uint32 // by tenant: all days before are deleted
}

// after returns what is loose behind a round that wrote blocks of some days. Of too many those with
// the most rounds are kept.
func (m *merges) after(days map[tenantDay]bool) []looseDay {
	all := make([]looseDay, 0, len(m.loose)+len(days))
	for _, d := range m.loose {
		d.Quiet++
		if is := (tenantDay{d.Tenant, d.Day}); days[is] {
			d.Rounds, d.Quiet = d.Rounds+1, 0
			delete(days, is)
		}
		if d.Quiet < quietAt || d.due() {
			all = append(all, d)
		}
	}
	for d := range days {
		all = append(all, looseDay{Tenant: d.tenant, Day: d.day, Rounds: 1})
	}
	slices.SortFunc(all, func(a, b looseDay) int {
		return cmp.Or(cmp.Compare(b.Rounds, a.Rounds), cmp.Compare(a.Tenant, b.Tenant),
			cmp.Compare(b.Day, a.Day))
	})
	return all[:min(len(all), mostLoose)]
}

// put stores what is loose, in the batch of a marker.
func (m *merges) put(batch *pebble.Batch, loose []looseDay) error {
	value, err := json.Marshal(loose)
	return cmp.Or(err, batch.Set(fixedKey(fixedLoose), value, nil))
}

func (s *Store) openMerges(context.Context) error {
	if err := s.fixedJSON(fixedLoose, &s.merges.loose); err != nil {
		return fmt.Errorf("read which days are to be merged: %w", err)
	}
	return nil
}

// expire says that all days of a tenant before one are about to be deleted.
func (m *merges) expire(tenant, before uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.expired == nil {
		m.expired = map[uint32]uint32{}
	}
	m.expired[tenant] = max(m.expired[tenant], before)
}

// mergeBlocks merges the days that are due, until nothing is left to do, or a round is wanted.
func (s *Store) mergeBlocks(wanted func() bool) error {
	pace := s.options.pacing.begin(wanted)
	for more := true; more && !wanted() && s.options.pacing.stopping.Err() == nil; {
		var err error
		if more, err = s.mergeStep(&pace); err != nil {
			return fmt.Errorf("merge blocks: %w", err)
		}
	}
	return nil
}

// mergeStep merges the blocks of the next devices, and reports whether it is to be called again.
func (s *Store) mergeStep(p *pace) (more bool, err error) {
	s.checkpoints.running.Lock()
	defer s.checkpoints.running.Unlock()
	i := slices.IndexFunc(s.merges.loose, func(d looseDay) bool { return d.due() })
	if i < 0 {
		return false, nil
	}
	d := &s.merges.loose[i]
	if d.begun == 0 {
		d.begun = d.Rounds
	}
	m := blockMerge{
		day: *d, from: d.next, out: tables{store: s, name: mergeTables, pace: p}, pace: p,
		key: newKey(0, 0),
	}
	if err := m.read(s); err != nil {
		return false, err
	}
	if err := m.write(s); err != nil {
		return false, err
	}
	d.next = m.behind
	if m.last {
		d.Merged, d.Rounds = d.Merged+d.begun, d.Rounds-d.begun
		d.next, d.begun = 0, 0
	}
	return true, nil
}

// blockMerge merges the blocks of some devices of a day, which are all that it has between two
// numbers.
type blockMerge struct {
	day          looseDay
	from, behind uint32 // numbers of devices
	last         bool   // it has none behind them
	out          tables
	before       int // blocks that were read
	after        int // blocks that are in their place
	bytes        int // of those that were read
	pace         *pace

	decoder  eventlog.Decoder
	encoder  eventlog.Encoder
	entries  []delivered
	distinct []eventlog.Entry
	texts    []byte
	key      key
	value    []byte
}

// delivered is an entry, and the sequence of the block that it was in.
type delivered struct {
	eventlog.Entry
	sequence uint64
}

// read merges devices until there is enough for a table.
func (m *blockMerge) read(s *Store) error {
	prefix := newKey(tableBlock, m.day.Tenant).number(m.day.Day)
	from := newKey(tableBlock, m.day.Tenant).number(m.day.Day).number(m.from)
	it, err := newIterator(s.options.pacing.stopping, s.db, from, prefix.end())
	if err != nil {
		return err
	}
	defer it.close()
	ok := it.First()
	for ok && m.bytes < mergeBytes {
		device, _, whole := takeNumber(it.Key()[len(prefix):])
		if !whole {
			return errDamaged
		}
		m.behind = device + 1
		if ok, err = m.device(it, device); err != nil {
			return err
		}
	}
	m.last = !ok
	return it.Error()
}

// device merges the blocks of a device, at which the iterator is.
func (m *blockMerge) device(it *iterator, device uint32) (more bool, err error) {
	prefix := newKey(tableBlock, m.day.Tenant).number(m.day.Day).number(device)
	m.entries, m.texts = m.entries[:0], m.texts[:0]
	var highest uint64
	for more = true; more && bytes.HasPrefix(it.Key(), prefix); more = it.Next() {
		at, whole := splitBlock(it.Key()[len(prefix):], m.day.Day)
		if !whole {
			return false, errDamaged
		}
		if err := m.block(it, at); err != nil {
			return false, err
		}
		highest = max(highest, at.sequence)
	}
	if err := it.Error(); err != nil {
		return false, err
	}
	return more, m.put(device, m.standing(), highest)
}

// block reads a block. Its texts are copied, for the decoder uses their room again.
func (m *blockMerge) block(it *iterator, at spanned) error {
	value, err := it.ValueAndErr()
	if err != nil {
		return fmt.Errorf("read block: %w", err)
	}
	all, err := m.decoder.Entries(value, at.newest)
	if err != nil {
		return errDamaged
	}
	for _, e := range all {
		e.Message, e.Attributes = m.keep(e.Message), m.keep(e.Attributes)
		m.entries = append(m.entries, delivered{e, at.sequence})
	}
	m.before++
	m.bytes += len(value)
	m.pace.did(len(all) * entryWork)
	return nil
}

func (m *blockMerge) keep(text []byte) []byte {
	from := len(m.texts)
	m.texts = append(m.texts, text...)
	return m.texts[from:len(m.texts):len(m.texts)]
}

// standing returns the entries of a device, newest first, of each the delivery that counts.
func (m *blockMerge) standing() []eventlog.Entry {
	slices.SortFunc(m.entries, func(a, b delivered) int {
		return cmp.Or(compareEntries(a.Entry, b.Entry), cmp.Compare(b.sequence, a.sequence))
	})
	m.distinct = m.distinct[:0]
	for i := range m.entries {
		if i == 0 || compareEntries(m.entries[i-1].Entry, m.entries[i].Entry) != 0 {
			m.distinct = append(m.distinct, m.entries[i].Entry)
		}
	}
	return m.distinct
}

// put puts the blocks of a device into the table.
func (m *blockMerge) put(device uint32, entries []eventlog.Entry, sequence uint64) error {
	for len(entries) > 0 {
		n := eventlog.BlockOf(entries)
		m.value = m.encoder.Append(m.value[:0], entries[:n])
		m.key = m.key.begin(tableBlock, m.day.Tenant).block(m.day.Day, device, spanned{
			newest: entries[0].Time, oldest: entries[n-1].Time, sequence: sequence,
		})
		m.out.add(m.key, m.value)
		m.after++
		entries = entries[n:]
	}
	return nil
}

// write has the new blocks stand in place of all that were read, unless they are hardly fewer.
func (m *blockMerge) write(s *Store) error {
	if m.before < 2*m.after {
		return nil
	}
	of := func(device uint32) key {
		return newKey(tableBlock, m.day.Tenant).number(m.day.Day).number(device)
	}
	m.out.instead = span{of(m.from), of(m.behind)}
	s.merges.mu.Lock()
	defer s.merges.mu.Unlock()
	if m.day.Day < s.merges.expired[m.day.Tenant] || m.before == 0 {
		return nil
	}
	s.rounds.merged.Add(int64(m.before))
	return m.out.ingest()
}
