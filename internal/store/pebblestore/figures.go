package pebblestore

// Figures is of wrap.Figured.
func (s *Store) Figures(tell func(name, help string, value float64, labels ...string)) {
	m := s.db.Metrics()
	level0, total := &m.Levels[0], m.Total()
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
		{"written_bytes_total", "Bytes that were written into the log and, by flushes and " +
			"compactions, into tables.", float64(m.WAL.BytesWritten +
			total.TableBytesFlushed + total.TableBytesCompacted)},
		{"disk_bytes", "Size of all files.", float64(m.DiskSpaceUsage())},
		{"cache_bytes", "Blocks of files that are kept in memory.", float64(m.BlockCache.Size)},
		{"cache_hits_total", "Blocks that were found in memory.", float64(m.BlockCache.Hits)},
		{"cache_misses_total", "Blocks that were read from the disk.",
			float64(m.BlockCache.Misses)},
	} {
		tell(f.name, f.help, f.value)
	}
}
