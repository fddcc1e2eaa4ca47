package pebblestore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Diagnose implements andon.Maintenance: how the engine is set up, and how it is.
func (s *Store) Diagnose(
	_ context.Context, report func(name, value, source string, advice ...string),
) error {
	s.mu.RLock()
	devices := 0
	for _, t := range s.tenants {
		devices += t.fleet.Len()
	}
	s.mu.RUnlock()
	m := s.db.Metrics()
	const metrics = "the engine's metrics"
	report("stored format", fmt.Sprintf("%d, engine %d", formatVersion, s.db.FormatMajorVersion()),
		"the open store")
	report("devices in memory", strconv.Itoa(devices), "the open store")
	report("records since the checkpoint", mebibytes(uint64(s.checkpoints.grown.Load())),
		"the open store")
	reportDamage(s.Damage(), report)
	report("bytes on disk", mebibytes(m.DiskSpaceUsage()), metrics)
	report("write-ahead log", mebibytes(m.WAL.PhysicalSize), metrics)
	report("tables in level 0", strconv.FormatInt(m.Levels[0].TablesCount, 10), metrics)
	report("bytes waiting to be compacted", mebibytes(m.Compact.EstimatedDebt), metrics)
	return nil
}

// Damage implements andon.Maintenance.
func (s *Store) Damage() []string { return s.dir.Damages.List() }

func reportDamage(files []string, report func(name, value, source string, advice ...string)) {
	const name, source = "damaged files", "what was read since the store was opened"
	if len(files) == 0 {
		report(name, "none", source)
		return
	}
	report(name, strings.Join(files, ", "), source, "Queries that need what can't be read of them",
		"are refused; all else goes on. Restore the store from a backup, and look at the disk.")
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
