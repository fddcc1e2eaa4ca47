package pebblestore

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// TestWrittenBytes: where nothing was compacted, what was written is the log and the tables, each
// once.
func TestWrittenBytes(t *testing.T) {
	// What a flush writes is taken in as tables, and does not go through the log.
	s, err := Open("store", Options{FS: vfs.NewMem(), table: 16 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Append(t.Context(), andon.DefaultTenant, 1, warnings(1000))
	if err := errors.Join(err, s.flushDue()); err != nil {
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
