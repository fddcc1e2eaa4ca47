package pebblestore_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore"
	"github.com/andonhq/andon/storetest"
)

// TestStore runs on a real directory.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) andon.Store { return open(t, t.TempDir(), nil) })
}

// TestHistories runs in memory, because it opens many stores, and opens each again in between, of
// a directory that was closed, or as a power cut leaves it.
func TestHistories(t *testing.T) {
	disks := map[andon.Store]*vfs.MemFS{}
	onDisk := func(t *testing.T, fs *vfs.MemFS) andon.Store {
		s := open(t, "store", fs)
		disks[s] = fs
		return s
	}
	leave := func(s andon.Store) {
		delete(disks, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Histories(t,
		func(t *testing.T) andon.Store { return onDisk(t, vfs.NewCrashableMem()) },
		storetest.Options{
			Abort: true, Parallel: true, Checkpoint: pebblestore.Checkpoint,
			Reopen: func(s andon.Store) andon.Store {
				fs := disks[s]
				leave(s)
				return onDisk(t, fs)
			},
			Crash: func(s andon.Store) andon.Store {
				after := disks[s].CrashClone(vfs.CrashCloneCfg{})
				leave(s)
				return onDisk(t, after)
			},
		},
	)
}

func open(t *testing.T, dir string, fs vfs.FS) andon.Store {
	t.Helper()
	const years = 100 * 365 * 24 * time.Hour // histories go on by days
	s, err := pebblestore.Open(dir, pebblestore.Options{FS: fs, ChangesFor: years})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
