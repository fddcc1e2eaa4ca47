package pebblestore

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// TestSerialOpeningLeavesTheCacheEmpty: what is read once, at opening, takes no memory afterwards.
func TestSerialOpeningLeavesTheCacheEmpty(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs)
	message := strings.Repeat("-", 2000)
	for n := range 40 {
		events := benchEvents(n, 200)
		for i := range events {
			events[i].Message = message
		}
		if err := s.Append(t.Context(), andon.DefaultTenant, benchBase, events); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openMem(t, fs)
	defer func() { _ = s.Close() }()
	if kept := s.db.Metrics().BlockCache.Size; kept > loadCache {
		t.Errorf("%d MiB of blocks are in memory", kept>>20)
	}
}

// TestSerialCacheNextToMemtables: memtables leave the blocks the memory that Options.Cache names,
// so what was just read is not read from the disk again.
func TestSerialCacheNextToMemtables(t *testing.T) {
	// The blocks of one answer are a fifth of it, so that no shard of the cache is too small.
	const size = 4 << 20
	s, err := Open("store", Options{FS: vfs.NewMem(), Reserve: 1, Cache: size, memTable: size})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for n := 0; s.db.Metrics().MemTable.Size < 2*size || n < 40; n++ {
		err := s.Append(t.Context(), andon.DefaultTenant, benchBase, benchEvents(n, benchBatch))
		if err != nil || n == 1000 {
			t.Fatalf("batch %d: %v", n, err)
		}
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	read := func() (missed int64) {
		before := s.db.Metrics().BlockCache.Misses
		q := andon.EventQuery{Limit: 10}
		for _, err := range s.DeviceEvents(t.Context(), andon.DefaultTenant, benchNames[7], q) {
			if err != nil {
				t.Fatal(err)
			}
		}
		return s.db.Metrics().BlockCache.Misses - before
	}
	if read() == 0 {
		t.Fatal("nothing was read from the disk at first")
	}
	// A compaction may replace what was just read, so one look proves nothing; where memtables take
	// the whole cache, every look reads from the disk.
	var missed int64
	for range 20 {
		if missed = read(); missed == 0 {
			return
		}
	}
	t.Errorf("%d blocks were read from the disk again and again", missed)
}
