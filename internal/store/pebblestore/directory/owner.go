package directory

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

const (
	lockFile  = "andon.lock"  // held, empty, by the process that has the directory open
	ownerFile = "andon.owner" // says which process that is
)

// lock makes sure that no other process has the directory open, and writes down which one has it
// now. The lock
// is the operating system's, so it goes with the process however that ends.
func lock(fs vfs.FS, dir, owner string) (release func(), err error) {
	held, err := fs.Lock(fs.PathJoin(dir, lockFile))
	if err != nil {
		if _, ofFile := errors.AsType[*os.PathError](err); ofFile && os.IsPermission(err) {
			return nil, fmt.Errorf("this user may not write to the store in %s: start as the user "+
				"whose it is, or give it to this one with chown -R: %w", dir, err)
		}
		if !heldElsewhere(err) {
			return nil, fmt.Errorf("lock store in %s: %w", dir, err)
		}
		return nil, andon.Errorf(andon.Conflict,
			"the store in %s is open already, in %s: "+
				"stop that one first, or name another directory",
			dir, readOwner(fs, dir))
	}
	if err := writeOwner(fs, dir, owner); err != nil {
		return nil, errors.Join(fmt.Errorf("open store in %s: %w", dir, err), held.Close())
	}
	// At the end of a store no caller can act on its error.
	return sync.OnceFunc(func() { _ = held.Close() }), nil
}

func heldElsewhere(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) ||
		strings.Contains(err.Error(), "lock held by current process")
}

func writeOwner(fs vfs.FS, dir, owner string) error {
	f, err := fs.Create(fs.PathJoin(dir, ownerFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // for people who read whose directory this is
	_, err = fmt.Fprintf(f, "process %d on %s (%s), since %s", os.Getpid(), host, owner,
		time.Now().UTC().Format(time.RFC3339))
	return errors.Join(err, f.Close())
}

func readOwner(fs vfs.FS, dir string) string {
	text, err := engine.ReadFile(fs, fs.PathJoin(dir, ownerFile))
	if err != nil || len(text) == 0 {
		return "a process that left no name"
	}
	return string(text)
}

// Version returns the version of Pebble that this program was built with. It reads the names of all
// modules, which takes longer than most requests.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/cockroachdb/pebble/v2" {
				return strings.TrimPrefix(dep.Version, "v")
			}
		}
	}
	return "2"
}
