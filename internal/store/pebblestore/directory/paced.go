package directory

import (
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// pacedFS is a file system whose tables are written in the pace of background work. Making any file
// but a log waits where the disk was full just before.
type pacedFS struct {
	vfs.FS
	damages *Damages
	pacing  *engine.Pacing
}

// Unwrap implements vfs.FS.
func (p pacedFS) Unwrap() vfs.FS { return p.FS }

// Create implements vfs.FS.
func (p pacedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if c != "pebble-wal" {
		p.damages.rest()
	}
	f, err := p.FS.Create(name, c)
	if err != nil || !engine.IsPaced(c) {
		return f, err
	}
	return p.pacing.Paced(f), nil
}
