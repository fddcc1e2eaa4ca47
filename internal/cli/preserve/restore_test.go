package preserve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/backup"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/store/pebblestore"
)

// The tests here break a restore at its first step, then at its second, and so on until it runs to
// its end. It leaves nothing then, or the whole store.

// restoreTest is a backup of a small store as a tar, and the files of that store.
type restoreTest struct {
	*testing.T
	dir   string
	tar   []byte
	files map[string]string
}

func newRestoreTest(t *testing.T) *restoreTest {
	t.Helper()
	r := &restoreTest{T: t, dir: t.TempDir()}
	s, err := pebblestore.Open(filepath.Join(r.dir, "store"), pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var events []andon.Event
	for i := range 200 {
		events = append(events, andon.Event{
			Device: andon.DeviceID(fmt.Sprint("d", i%7)), Time: andon.MinTime + andon.Time(i),
			State: "WARNING1",
		})
	}
	err = s.Append(t.Context(), andon.DefaultTenant, 1, andon.SortBatch(events))
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	var tar bytes.Buffer
	err = appOf(program(), filepath.Join(r.dir, "store")).Backup(t.Context(), &tar)
	if err != nil {
		t.Fatal(err)
	}
	r.tar, r.files = tar.Bytes(), map[string]string{}
	_, err = backup.Read(&tar, func(name string, content io.Reader) error {
		text, err := io.ReadAll(content)
		if !backup.IsOwn(name) {
			r.files[name] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func program() *command.Program {
	return &command.Program{
		Stdout: io.Discard, Stderr: io.Discard,
		Now: func() andon.Time { return andon.MinTime },
	}
}

// restore restores a backup, and checks that nothing is there afterwards, or all of it.
func (r *restoreTest) restore(ctx context.Context, place string, tar []byte) error {
	r.Helper()
	x := &restoring{
		Program: program(), data: filepath.Join(r.dir, "data"),
		source: filepath.Join(r.dir, "backup.tar"),
	}
	if err := os.WriteFile(x.source, tar, 0o600); err != nil {
		r.Fatal(err)
	}
	err := x.run(ctx)
	if err == nil {
		r.isWhole(place, x.data)
	} else if _, is := os.Stat(x.data); !os.IsNotExist(is) {
		r.Errorf("%s: it fails (%v), and leaves something", place, err)
	}
	if err := os.RemoveAll(x.data); err != nil {
		r.Fatal(err)
	}
	return err
}

// isWhole checks that a directory has the files of the store.
func (r *restoreTest) isWhole(place, dir string) {
	r.Helper()
	for name, want := range r.files {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			r.Errorf("%s: %s has %d bytes, want %d: %v", place, name, len(got), len(want), err)
		}
	}
}

// steps is a context that ends at the n-th look at it.
type steps struct {
	context.Context
	end context.CancelFunc
	n   int
	see func()
}

func (s *steps) look() {
	if s.n--; s.n == 0 {
		s.see()
		s.end()
	}
}

func (s *steps) Err() error {
	s.look()
	return s.Context.Err()
}

func (s *steps) Done() <-chan struct{} {
	s.look()
	return s.Context.Done()
}

// TestRestoreIsStoppedAtEveryStep ends the context of a restore. What a kill at that moment would
// leave is no store, and nothing can be restored into it unseen.
func TestRestoreIsStoppedAtEveryStep(t *testing.T) {
	r := newRestoreTest(t)
	n := 1
	for ended := false; !ended; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		left := filepath.Join(r.dir, fmt.Sprint("left", n))
		s := &steps{ctx, cancel, n, func() {
			if err := os.CopyFS(left, os.DirFS(filepath.Join(r.dir, "data"))); err != nil {
				t.Error(err)
			}
		}}
		err := r.restore(s, fmt.Sprint("stopped at step ", n), r.tar)
		ended = err == nil && s.n > 0
		if cancel(); ended {
			break
		}
		if s, err := pebblestore.Open(left, pebblestore.Options{}); err == nil {
			t.Errorf("killed at step %d: the part is taken for a store", n)
			s.Close()
		}
		again := &restoring{
			Program: program(), data: left, source: filepath.Join(r.dir, "backup.tar"),
		}
		err = again.run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "broken off") {
			t.Errorf("killed at step %d: restored again: %v", n, err)
		}
	}
	if n < 10 {
		t.Errorf("it has %d steps", n-1)
	}
	t.Logf("a restore was stopped at %d steps", n-1)
}

// TestRestoreOfADamagedBackup flips a bit of a backup, and ends it, at many places.
func TestRestoreOfADamagedBackup(t *testing.T) {
	r := newRestoreTest(t)
	refused, places := 0, 0
	for i := 0; i < len(r.tar); i += 1 + len(r.tar)/100 {
		flipped := bytes.Clone(r.tar)
		flipped[i] ^= 1 << (i % 8)
		places += 2
		if r.restore(t.Context(), fmt.Sprintf("a bit of byte %d is flipped", i), flipped) != nil {
			refused++ // else it is one that fills up a block of the tar
		}
		if r.restore(t.Context(), fmt.Sprintf("it ends at byte %d", i), r.tar[:i]) != nil {
			refused++
		}
	}
	if refused < places*3/4 {
		t.Errorf("%d of %d were refused", refused, places)
	}
	t.Logf("%d backups were damaged, %d of them refused", places, refused)
}

// TestRestoreThatCannotMoveAFile has each file fail in turn to become one of the store.
func TestRestoreThatCannotMoveAFile(t *testing.T) {
	r := newRestoreTest(t)
	for broken := range r.files {
		from, to := filepath.Join(t.TempDir(), "from"), t.TempDir()
		if err := os.Mkdir(from, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range r.files {
			if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(filepath.Join(to, broken), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := moveStore(from, to); err == nil {
			t.Errorf("%s: no error", broken)
		}
		if left, err := os.ReadDir(to); err != nil || len(left) != 1 {
			t.Errorf("%s: %d files are left: %v", broken, len(left), err)
		}
	}
}

// TestBackupIntoTheStore: a backup in the directory of a store would be lost with it.
func TestBackupIntoTheStore(t *testing.T) {
	r := newRestoreTest(t)
	linked := filepath.Join(r.dir, "linked")
	if err := os.Symlink(filepath.Join(r.dir, "store"), linked); err != nil {
		t.Fatal(err)
	}
	for dir, refused := range map[string]bool{
		r.dir: false, filepath.Join(r.dir, "store"): true, linked: true,
	} {
		s := &saving{Program: program(), target: filepath.Join(dir, "x.tar.zst")}
		if err := s.checkTarget(); (andon.KindOf(err) == andon.Invalid && err != nil) != refused {
			t.Errorf("into %s: %v", dir, err)
		}
	}
}
