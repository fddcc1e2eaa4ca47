package directory

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// refusing is a file system that refuses locks.
type refusing struct {
	vfs.FS
	err error
}

func (r refusing) Lock(string) (io.Closer, error) { return nil, r.err }

// TestRefusedLock: a directory that the user may not write to is not said to be open elsewhere.
func TestRefusedLock(t *testing.T) {
	for want, err := range map[string]error{
		"open already": syscall.EAGAIN,
		"chown":        &os.PathError{Op: "open", Path: lockFile, Err: syscall.EACCES},
	} {
		_, err := lock(refusing{vfs.NewMem(), err}, "d", "andon")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
