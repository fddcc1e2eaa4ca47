// Package rwlock is a sync.RWMutex that stops waiting when a context ends. Some locks are held
// during I/O on a disk or a network, and a caller that waits for such a lock must be able to give
// up.
package rwlock

import (
	"context"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Lock is a sync.RWMutex on which waiting ends with the context. Readers that come while a writer
// waits are after it in the queue. The zero value is unlocked.
type Lock struct {
	once  sync.Once
	holds *semaphore.Weighted // a reader has one part of it, a writer the whole
}

const whole = math.MaxInt64

func (l *Lock) parts() *semaphore.Weighted {
	l.once.Do(func() { l.holds = semaphore.NewWeighted(whole) })
	return l.holds
}

// RLock locks for reading, shared with other readers.
func (l *Lock) RLock(ctx context.Context) error { return l.acquire(ctx, 1) }

// acquire asks a context for its channel only where it has to wait: to make it costs more than the
// lock.
func (l *Lock) acquire(ctx context.Context, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.parts().TryAcquire(n) {
		return nil
	}
	return l.parts().Acquire(ctx, n)
}

// TryRLock locks for reading, unless a writer holds the lock or waits for it.
func (l *Lock) TryRLock() bool { return l.parts().TryAcquire(1) }

// RUnlock undoes one RLock or TryRLock.
func (l *Lock) RUnlock() { l.parts().Release(1) }

// Lock locks for writing, alone.
func (l *Lock) Lock(ctx context.Context) error { return l.acquire(ctx, whole) }

// Unlock undoes Lock.
func (l *Lock) Unlock() { l.parts().Release(whole) }
