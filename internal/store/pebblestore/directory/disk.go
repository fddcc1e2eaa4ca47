package directory

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// Disk watches how much of the disk is free. A full disk makes Pebble end the process, so writing
// stops while there is still a reserve, and goes on by itself once there is space again.
type Disk struct {
	fs      vfs.FS
	dir     string
	reserve int64

	stuck  func() error // what else keeps from writing
	looked atomic.Int64 // when the disk was looked at, in nanoseconds of the process's own clock
	free   atomic.Int64
	why    atomic.Pointer[error] // of stuck
}

// How old a look at the disk may be. What the reserve is for comes later: tables that Pebble makes
// of what is in its log already.
const lookEvery = 50 * time.Millisecond

// least is what is left of the reserve to what gives space back: Pebble must be able to write what
// it has in memory, or nothing is given back.
const least = 64 << 20

// Check returns a Full error while the reserve is touched, and what else keeps from writing.
func (d *Disk) Check() error { return d.Admit(context.Background(), false) }

// Refresh has the next check look at the disk again.
func (d *Disk) Refresh() { d.looked.Store(0) }

// Admit is Check for a write with a context. One that frees space, or leads to it, may go into the
// reserve, and so may one that is urgent, though not as far.
func (d *Disk) Admit(ctx context.Context, frees bool) error {
	d.look()
	left := min(least, d.reserve/2)
	if !frees && !andon.IsFreeing(ctx) {
		if why := d.why.Load(); *why != nil {
			return *why
		}
		if left += left / 2; !andon.IsUrgent(ctx) {
			left = d.reserve
		}
	}
	if free := d.free.Load(); free < left {
		return andon.Errorf(andon.Full,
			"the store's disk has %d MiB left, less than the %d MiB kept in reserve: "+
				"make room on it, or shorten the retention of tenants",
			free>>20, d.reserve>>20)
	}
	return nil
}

// look looks at the disk again where the last look is old.
func (d *Disk) look() {
	now := int64(engine.SinceStart())
	if looked := d.looked.Load(); looked != 0 && now-looked <= int64(lookEvery) {
		return
	}
	if usage, err := d.fs.GetDiskUsage(d.dir); err == nil {
		d.free.Store(int64(min(usage.AvailBytes, 1<<62)))
	} else {
		d.free.Store(1 << 62) // a file system that can't say has no limit that we know of
	}
	why := d.stuck()
	d.why.Store(&why)
	d.looked.Store(now)
}
