package walcheck_test

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestPebbleHidesDamage is the test case of docs/design/pebble-wal-report.md: one bit is flipped in
// the middle of a log, and Pebble opens without an error, with less than was synced. It fails once
// Pebble reports that: then andon.synced can be removed, and missing logs alone are left to be
// found.
func TestPebbleHidesDamage(t *testing.T) {
	const tries = 20
	for range tries {
		if hidesDamage(t) {
			return
		}
	}
	t.Errorf("Pebble reports damage in the middle of a log now, each of %d times", tries)
}

// hidesDamage flips a bit of a log, and reports whether Pebble opens the store nevertheless. It
// does not where a later record happens to say how far the log was synced.
func hidesDamage(t *testing.T) bool {
	t.Helper()
	const writes, size = 16, 100 << 10
	fs := vfs.NewCrashableMem()
	open := func(fs vfs.FS) (*pebble.DB, error) {
		return pebble.Open("store", &pebble.Options{
			FS: fs, FormatMajorVersion: pebble.FormatNewest, Logger: quiet{},
		})
	}
	db, err := open(fs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range writes {
		value := bytes.Repeat([]byte{byte(i)}, size)
		if err := db.Set(numbered(i), value, pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	path, _ := newestLog(t, crashed)
	flip(t, crashed, path, 3*size/2)

	if db, err = open(crashed); err != nil {
		return false
	}
	found := 0
	for i := range writes {
		if _, closer, err := db.Get(numbered(i)); err == nil {
			found++
			_ = closer.Close()
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if found == writes {
		t.Error("the flipped bit damaged nothing")
	}
	return true
}
