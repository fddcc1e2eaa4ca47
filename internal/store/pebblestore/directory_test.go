package pebblestore

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/directory"
)

// storeWithTables makes a store whose events are in a table and in a log, and closes it.
func storeWithTables(t *testing.T, fs vfs.FS) {
	t.Helper()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	appendOne(t, s, "press-1")
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	appendOne(t, s, "press-2")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func appendOne(t *testing.T, s *Store, device andon.DeviceID) {
	t.Helper()
	err := s.Append(t.Context(), andon.DefaultTenant, 1, []andon.Event{
		{Device: device, Time: andon.MinTime, State: "WARNING1"},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	names, err := fs.List("store")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func removeLike(t *testing.T, fs vfs.FS, prefix string) {
	t.Helper()
	for _, name := range list(t, fs) {
		if strings.HasPrefix(name, prefix) {
			if err := fs.Remove("store/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLostMarkers takes away what tools that skip empty files leave out. All else must still be
// there afterwards, and what the error says to do must bring the store back.
func TestLostMarkers(t *testing.T) {
	for _, marker := range []string{"marker.manifest.", "marker.format-version."} {
		fs := vfs.NewMem()
		storeWithTables(t, fs)
		removeLike(t, fs, marker)
		removeLike(t, fs, "andon.")
		was := list(t, fs)
		_, err := Open("store", Options{FS: fs})
		if andon.KindOf(err) != andon.Damaged || !strings.Contains(err.Error(), marker) {
			t.Fatalf("without %s: %v", marker, err)
		}
		for _, name := range was {
			if !slices.Contains(list(t, fs), name) {
				t.Errorf("without %s: %s is gone after the refusal", marker, name)
			}
		}
		words := strings.Fields(err.Error())
		i := slices.IndexFunc(words, func(w string) bool {
			return strings.HasPrefix(w, marker+"000001.") && !strings.HasSuffix(w, ".000001.")
		})
		if i < 0 {
			t.Fatalf("the error names no marker to make: %v", err)
		}
		write(t, fs, "store/"+strings.TrimRight(words[i], "."), nil)
		s, err := Open("store", Options{FS: fs})
		if err != nil {
			t.Fatalf("with %s made anew: %v", words[i], err)
		}
		for _, device := range []andon.DeviceID{"press-1", "press-2"} {
			if _, err := s.Device(t.Context(), andon.DefaultTenant, device); err != nil {
				t.Errorf("with %s made anew: %v", words[i], err)
			}
		}
		_ = s.Close()
	}
}

func read(t *testing.T, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, fs vfs.FS, path string, content []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDirectories(t *testing.T) {
	for _, c := range []struct {
		files []string
		kind  andon.Kind // Internal: it opens
		says  string
	}{
		{files: nil},
		{files: []string{"andon.lock", "andon.owner", "lost+found"}},
		{files: []string{"LOCK", "MANIFEST-000001", "temporary.000002.dbtmp"}},
		{files: []string{"thesis.doc"}, kind: andon.Invalid, says: "thesis.doc"},
		{files: []string{"CURRENT", "000004.sst"}, kind: andon.Invalid, says: "CURRENT"},
		{files: []string{"marker.txt", "c", "b", "a"}, kind: andon.Invalid, says: "(a, b, c)"},
		{files: []string{"000004.sst"}, kind: andon.Damaged, says: "no manifest"},
		{files: []string{"000004.log", "MANIFEST-000001"}, kind: andon.Damaged, says: "marker.man"},
		{files: []string{"MANIFEST-000009"}, kind: andon.Damaged, says: "000001.MANIFEST-000009"},
		{files: []string{"OPTIONS-000003"}, kind: andon.Damaged, says: "no manifest"},
	} {
		fs := vfs.NewMem()
		if err := fs.MkdirAll("store", 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range c.files {
			write(t, fs, "store/"+name, nil)
		}
		s, err := Open("store", Options{FS: fs})
		if err == nil {
			_ = s.Close()
		}
		if c.says == "" && err != nil || c.says != "" && (andon.KindOf(err) != c.kind ||
			!strings.Contains(err.Error(), c.says)) {
			t.Errorf("a directory with %s: %v", c.files, err)
		}
		for _, name := range c.files {
			if _, err := fs.Stat("store/" + name); c.says != "" && err != nil {
				t.Errorf("a directory with %s: %s is gone", c.files, name)
			}
		}
		_, owned := fs.Stat("store/andon.owner")
		if c.kind == andon.Invalid && owned == nil {
			t.Errorf("a directory with %s: something was written into it", c.files)
		}
	}
}

// silent is a log for Pebble itself, that says nothing.
func silent() pebble.Logger {
	o := &Options{}
	o.complete()
	return directory.New(o.directory("")).Options().Logger
}

func TestStoreOfAnotherProgramIsRefused(t *testing.T) {
	fs := vfs.NewMem()
	db, err := pebble.Open("store", &pebble.Options{FS: fs, Logger: silent()})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Set([]byte("theirs"), nil, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	was := list(t, fs)
	_, err = Open("store", Options{FS: fs})
	if andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(), "another program") {
		t.Errorf("opening: %v", err)
	}
	for _, name := range was {
		if !slices.Contains(list(t, fs), name) {
			t.Errorf("%s is gone after the refusal", name)
		}
	}
}

func TestDamagedOptionsAreNamed(t *testing.T) {
	fs := vfs.NewMem()
	storeWithTables(t, fs)
	var options string
	for _, name := range list(t, fs) {
		if strings.HasPrefix(name, "OPTIONS-") {
			options = name
		}
	}
	write(t, fs, "store/"+options, []byte("[Options]\n  compaction\n"))
	_, err := Open("store", Options{FS: fs})
	if andon.KindOf(err) != andon.Damaged || !strings.Contains(err.Error(), options) {
		t.Errorf("opening: %v", err)
	}
}
