package pebblestore

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// breaker breaks a job at its n-th step.
type breaker struct {
	fault fault
	n     int64
	mem   *crashable
	stop  context.CancelFunc // of the caller's context
	// opens says that the job is to open the store, and its steps are those after the engine's:
	// where Pebble itself fails to open, a goroutine of it that is left reads from a closed cache.
	opens  bool
	starts bool // the job is to open the store

	armed   atomic.Bool
	steps   atomic.Int64
	fired   atomic.Bool
	stopped atomic.Bool
	flip    atomic.Bool  // the next read of a table returns a flipped bit
	refuse  atomic.Int64 // writes that fail from now on

	mu   sync.Mutex
	cuts []*crashable // what power cuts left
}

// step counts a step, and reports whether it is the one to break at.
func (b *breaker) step() bool {
	if !b.armed.Load() || b.fired.Load() {
		return false
	}
	return b.steps.Add(1) == b.n && b.fired.CompareAndSwap(false, true)
}

// watched is a context that counts the looks at it.
type watched struct {
	context.Context
	b *breaker
}

func (l watched) Err() error {
	l.look()
	if l.b.stopped.Load() {
		return context.Canceled
	}
	return l.Context.Err()
}

func (l watched) Done() <-chan struct{} {
	l.look()
	return l.Context.Done()
}

func (l watched) look() {
	if l.b.fault == jobStops && l.b.step() {
		l.b.end()
	}
}

// MaybeError is of errorfs.Injector: it is called before each call of the file system.
func (b *breaker) MaybeError(op errorfs.Op) error {
	write := op.Kind.ReadOrWrite() == errorfs.OpIsWrite
	if strings.HasSuffix(op.Path, snapshotDir) && b.opens {
		b.armed.Store(true)
	}
	switch b.fault {
	case jobStops:
		if b.step() {
			b.end()
		}
	case callFails:
		// Where the directory can't be synced for a new log, Pebble panics with a mutex unlocked
		// that it unlocks again, which no test survives. The process would end here.
		if op.Path != "store" && b.step() {
			return errorfs.ErrInjected
		}
	case diskIsFull:
		const calls = 12
		if write && op.Path != "store" && op.Kind != errorfs.OpRemove {
			if b.step() {
				b.refuse.Store(calls)
			}
			if b.refuse.Add(-1) >= 0 {
				return syscall.ENOSPC
			}
		}
	case powerIsCut:
		if write && b.step() {
			b.cut()
		}
	case blockIsBroken:
		if op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst") && b.step() {
			b.flip.Store(true)
		}
	}
	return nil
}

// String is of errorfs.Injector.
func (b *breaker) String() string { return b.fault.String() }

// end ends the contexts of the job.
func (b *breaker) end() {
	b.stopped.Store(true)
	b.stop()
}

func (b *breaker) cut() {
	rng := rand.New(rand.NewPCG(uint64(b.n), 7))
	b.mu.Lock()
	defer b.mu.Unlock()
	percents := []int{0, 50, 100}
	if b.fault == powerIsCut && b.starts {
		percents = []int{0, 100} // Pebble takes it that files come into a directory in their order
	}
	for _, percent := range percents {
		b.cuts = append(b.cuts, b.mem.crash(vfs.CrashCloneCfg{
			UnsyncedDataPercent: percent, RNG: rng,
		}))
	}
}

// flippedFS has a read return a flipped bit.
type flippedFS struct {
	vfs.FS
	b *breaker
}

func (f flippedFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, o...)
	if err != nil || !strings.HasSuffix(name, ".sst") {
		return file, err
	}
	return flippedFile{file, f.b}, nil
}

type flippedFile struct {
	vfs.File
	b *breaker
}

func (f flippedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if n > 0 && f.b.flip.CompareAndSwap(true, false) {
		p[n/2] ^= 1
	}
	return n, err
}

// copied returns a copy with all that was written.
func (c *crashable) copied() *crashable {
	return c.crash(vfs.CrashCloneCfg{
		UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1)),
	})
}

// crashable is a file system in memory that can be copied as a power cut leaves it while it is
// used. Pebble's own copy and its Link wait for each other.
type crashable struct {
	*vfs.MemFS
	linking sync.RWMutex
}

func newCrashable() *crashable { return &crashable{MemFS: vfs.NewCrashableMem()} }

func (c *crashable) Link(from, to string) error {
	c.linking.RLock()
	defer c.linking.RUnlock()
	return c.MemFS.Link(from, to)
}

func (c *crashable) crash(cfg vfs.CrashCloneCfg) *crashable {
	c.linking.Lock()
	defer c.linking.Unlock()
	return &crashable{MemFS: c.CrashClone(cfg)}
}
