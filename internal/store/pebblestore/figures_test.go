package pebblestore

import (
	"cmp"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// TestWrittenBytes: where nothing was compacted, what was written is the log and the tables, each
// once.
func TestWrittenBytes(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	s.options.table = 1 // a round's tables are taken in, and do not go through the log
	err := s.Append(t.Context(), andon.DefaultTenant, 1, manyDevices())
	if err := cmp.Or(err, s.checkpoint()); err != nil {
		t.Fatal(err)
	}
	m := s.db.Metrics()
	tables := uint64(0)
	for _, level := range m.Levels {
		tables += uint64(level.TablesSize)
	}
	written, want := writtenBytes(m), m.WAL.BytesWritten+tables
	if written != want || tables == 0 {
		t.Errorf("%d bytes are said to be written; the log has %d, tables %d",
			written, m.WAL.BytesWritten, tables)
	}
}
