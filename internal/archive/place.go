package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// place is where an archive is kept: files by name, with slashes.
type place interface {
	// Temp returns an empty file on this machine, which discard removes.
	Temp() (*os.File, error)
	// Open returns a file on this machine with what a name holds, which discard closes, and the
	// version of the name; NotFound where it holds nothing.
	Open(ctx context.Context, name string) (f *os.File, version string, err error)
	// Put has a name hold what a file of Temp does, in place of what it holds in that version, ""
	// for nothing, and returns the new version. Conflict: it has another one. Readers see all of it
	// or nothing, and it lasts when the call returns. After an error it may have happened or not.
	Put(ctx context.Context, name string, f *os.File, version string) (string, error)
	// List returns the names below a folder, "" for all, in their order.
	List(ctx context.Context, folder string) iter.Seq2[string, error]
}

// tempPattern is of names that neither Athena nor DuckDB takes for a part.
const tempPattern = ".andon-*.tmp"

func discard(f *os.File) {
	_ = f.Close()
	if is, _ := filepath.Match(tempPattern, filepath.Base(f.Name())); is {
		_ = os.Remove(f.Name())
	}
}

func errChanged(name string) error {
	return andon.Errorf(andon.Conflict, "%s is not what it was: another process wrote it, where "+
		"one store alone can be archived, under one name; or the answer to this write, or the "+
		"manifest, was lost. Run the archive again: it goes on, or names a file to remove", name)
}

type directory string

func (d directory) path(name string) string {
	return filepath.Join(string(d), filepath.FromSlash(name))
}

func (d directory) Temp() (*os.File, error) {
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return nil, err
	}
	return os.CreateTemp(string(d), tempPattern)
}

// clear removes what killed processes left.
func (d directory) clear() {
	left, _ := filepath.Glob(d.path(tempPattern))
	for _, path := range left {
		_ = os.Remove(path)
	}
}

func (d directory) Open(_ context.Context, name string) (*os.File, string, error) {
	f, err := os.Open(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", andon.Errorf(andon.NotFound, "there is no %s", d.path(name))
	}
	return f, d.version(name), err
}

// version is when a file was written and how long it is, "" where there is none.
func (d directory) version(name string) string {
	is, err := os.Stat(d.path(name))
	if err != nil {
		return ""
	}
	return fmt.Sprint(is.ModTime().UnixNano(), is.Size())
}

func (d directory) Put(
	_ context.Context, name string, f *os.File, version string,
) (string, error) {
	path := d.path(name)
	err := errors.Join(f.Chmod(0o644), f.Sync(), os.MkdirAll(filepath.Dir(path), 0o755))
	if err == nil && d.version(name) != version {
		err = errChanged(path)
	}
	move := os.Rename
	if version == "" {
		move = os.Link // fails where there is one now
	}
	if err == nil {
		err = move(f.Name(), path)
	}
	for dir := filepath.Dir(path); err == nil && len(dir) >= len(d); dir = filepath.Dir(dir) {
		err = syncDir(dir) // it may be new
	}
	return d.version(name), err
}

// syncDir makes the names in a directory outlive a power cut.
func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d directory) List(_ context.Context, folder string) iter.Seq2[string, error] {
	return seq.Of(func(yield func(string) bool) error {
		root := os.DirFS(string(d))
		begin := cmp.Or(folder, ".")
		return fs.WalkDir(root, begin, func(name string, e fs.DirEntry, err error) error {
			if name == begin && errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || e.IsDir() {
				return err
			}
			if !yield(name) {
				return fs.SkipAll
			}
			return nil
		})
	})
}
