package pebblestore_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore"
)

// TestOnlyItsOwnerReads has a directory that anyone may read, with a file that anyone may read from
// a program of yesterday.
func TestOnlyItsOwnerReads(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("rights are not in the mode of a file there")
	}
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := pebblestore.Open(dir, pebblestore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		event := []andon.Event{{Device: "d", Time: 1e15, State: "NORMAL"}}
		if err := s.Append(t.Context(), andon.DefaultTenant, 1e15, event); err != nil {
			t.Fatal(err)
		}
		wantMode(t, dir, 0o700)
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, file := range files {
			wantMode(t, file, 0o600)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			_ = os.Chmod(file, 0o644)
		}
	}
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	is, err := os.Stat(path)
	if err != nil || is.Mode().Perm() != want {
		t.Errorf("%s: %v, %v, want %v", path, is.Mode(), err, want)
	}
}
