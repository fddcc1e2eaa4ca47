package pebblestore

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// flushCounts is what flushes have done since the store was opened.
type flushCounts struct {
	done, failed, entries atomic.Int64
	took                  atomic.Int64 // nanoseconds
}

// Figures implements andon.Maintenance.
func (s *Store) Figures(report func(name, help string, value float64, labels ...string)) {
	s.flushFigures(report)
	s.engineFigures(report)
}

func (s *Store) flushFigures(report func(name, help string, value float64, labels ...string)) {
	r := &s.flushes
	count := func(name, help string, n int64) { report(name, help, float64(n)) }
	count("unflushed_bytes", "Memory of entries that are not in blocks yet.",
		int64(s.log.Memory.Bytes()))
	count("unflushed_limit_bytes", "The most that it may be: pebble.memtable.",
		int64(s.log.Memory.Limit))
	count("unflushed_waits_total", "Writes that waited because the memtable was full.",
		s.log.Memory.Waits.Load())
	count("entry_flushes_total", "Flushes of the memtable to blocks.", r.done.Load())
	count("entry_flush_failures_total", "Flushes that failed and are repeated.", r.failed.Load())
	report("entry_flush_seconds_total", "How long flushes took, with their rests.",
		time.Duration(r.took.Load()).Seconds())
	count("checkpoint_lag_bytes", "Rows that are flushed, and that opening reads for what devices "+
		"show.", s.checkpoints.lag.Load())
	count("flushed_entries_total", "Entries that were flushed.", r.entries.Load())
	count("merged_blocks_total", "Small blocks that were merged into larger ones.",
		s.log.Merged.Load())
}

// writtenBytes is what the engine has written. In a total of levels, what was flushed has the log
// and the tables of entries in it.
func writtenBytes(m *pebble.Metrics) uint64 {
	total := m.Total()
	return total.TableBytesFlushed + total.TableBytesCompacted
}

func (s *Store) engineFigures(report func(name, help string, value float64, labels ...string)) {
	m := s.db.Metrics()
	level0 := &m.Levels[0]
	for _, f := range []struct {
		name, help string
		value      float64
	}{
		{"compactions_total", "Compactions that have ended.", float64(m.Compact.Count)},
		{"compactions_running", "Compactions that are running.", float64(m.Compact.NumInProgress)},
		{"compaction_debt_bytes", "An estimate of what is waiting to be compacted.",
			float64(m.Compact.EstimatedDebt)},
		{"flushes_total", "Memtables that were written out.", float64(m.Flush.Count)},
		{"memtables", "Memtables in memory.", float64(m.MemTable.Count)},
		{"memtable_bytes", "Memory that memtables take.", float64(m.MemTable.Size)},
		{"level0_files", "Files in level 0.", float64(level0.TablesCount)},
		{"level0_sublevels", "Files of level 0 that one read looks into; at 64 writes wait until " +
			"some are compacted.", float64(level0.Sublevels)},
		{"wal_bytes", "Size of the write-ahead log.", float64(m.WAL.Size)},
		{"wal_written_bytes_total", "Bytes that were written into the write-ahead log.",
			float64(m.WAL.BytesWritten)},
		{"written_bytes_total", "Bytes that were written into the log and, by flushes " +
			"and compactions, into tables.", float64(writtenBytes(m))},
		{"disk_bytes", "Size of all files.", float64(m.DiskSpaceUsage())},
		{"cache_bytes", "Blocks of files that are kept in memory.", float64(m.BlockCache.Size)},
		{"cache_hits_total", "Blocks that were found in memory.", float64(m.BlockCache.Hits)},
		{"cache_misses_total", "Blocks that were read from the disk.",
			float64(m.BlockCache.Misses)},
	} {
		report(f.name, f.help, f.value)
	}
}

// Size implements andon.Maintenance: the bytes of the tables that are in use. Those that a
// compaction has made superfluous are not counted, removed or not.
func (s *Store) Size(context.Context) (int64, error) {
	if err := s.db.Flush(); err != nil {
		return 0, fmt.Errorf("write out what is in memory: %w", err)
	}
	m := s.db.Metrics()
	return int64(m.Table.Local.LiveSize + m.BlobFiles.Local.LiveSize), nil
}
