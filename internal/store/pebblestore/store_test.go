package pebblestore_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore"
	"github.com/andonhq/andon/storetest"
)

// TestStore runs on a real directory.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) andon.Store { return open(t, t.TempDir(), nil) })
}

// TestHistories runs in memory, because it opens many stores, and opens each again in between.
func TestHistories(t *testing.T) {
	disks := map[andon.Store]vfs.FS{}
	onDisk := func(t *testing.T, fs vfs.FS) andon.Store {
		s := open(t, "store", fs)
		disks[s] = fs
		return s
	}
	storetest.Histories(t,
		func(t *testing.T) andon.Store { return onDisk(t, vfs.NewMem()) },
		storetest.Options{Reopen: func(s andon.Store) andon.Store {
			fs := disks[s]
			delete(disks, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return onDisk(t, fs)
		}},
	)
}

func open(t *testing.T, dir string, fs vfs.FS) andon.Store {
	t.Helper()
	s, err := pebblestore.Open(dir, pebblestore.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
