package directory

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// private is the operating system's files, each of which only its owner may read: the umask of
// whatever starts the program, and the directory that it is given, may allow more.
type private struct{ vfs.FS }

const (
	privateFile = 0o600
	privateDir  = 0o700
)

// Create implements vfs.FS.
func (p private) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := p.FS.Create(name, c)
	return owned(f, err, name)
}

// OpenReadWrite implements vfs.FS.
func (p private) OpenReadWrite(
	name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption,
) (vfs.File, error) {
	f, err := p.FS.OpenReadWrite(name, c, o...)
	return owned(f, err, name)
}

// Lock implements vfs.FS.
func (p private) Lock(name string) (io.Closer, error) {
	f, err := p.FS.Lock(name)
	return owned(f, err, name)
}

// owned takes the rights of others from a file that was just opened. A file system without such
// rights still serves as a store: keepPrivate reports it.
func owned[F any](f F, err error, name string) (F, error) {
	if err == nil {
		_ = os.Chmod(name, privateFile)
	}
	return f, err
}

// keepPrivate takes the rights of others from a directory that was there before and from what is in
// it. Where the directory belongs to another user, its files are private all the same, and the log
// says what is not.
func (d *Directory) keepPrivate() {
	if _, is := d.FS.(private); !is {
		return
	}
	files, err := os.ReadDir(d.Path)
	for _, f := range files {
		if f.Type().IsRegular() {
			err = errors.Join(err, restrict(filepath.Join(d.Path, f.Name()), privateFile))
		}
	}
	if err = errors.Join(err, restrict(d.Path, privateDir)); err != nil {
		d.Log.Warn("other users of this machine may read the store", "error", err)
	}
}

// restrict takes the rights of others from a file, if they have any. Pebble may have removed it.
func restrict(name string, mode os.FileMode) error {
	is, err := os.Stat(name)
	if err == nil && is.Mode().Perm()&^mode != 0 {
		err = os.Chmod(name, mode)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
