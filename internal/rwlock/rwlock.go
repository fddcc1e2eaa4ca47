// Package rwlock is a sync.RWMutex that stops waiting when a context ends. Some locks are held
// during I/O on a disk or a network, and a caller that waits for such a lock must be able to give
// up.
package rwlock

import (
	"context"
	"sync"
)

// Lock is a sync.RWMutex on which waiting ends with the context. Readers that come while a writer
// waits are after it in the queue. The zero value is unlocked.
type Lock struct {
	mu      sync.Mutex
	readers int
	writer  chan struct{} // closed when the writer is done; nil where none holds the lock or waits
	free    chan struct{} // closed by the last reader, for the writer that waits; else nil
}

// RLock locks for reading, shared with other readers.
func (l *Lock) RLock(ctx context.Context) error {
	err := l.turn(ctx)
	if err == nil {
		l.readers++
		l.mu.Unlock()
	}
	return err
}

// TryRLock locks for reading, unless a writer holds the lock or waits for it.
func (l *Lock) TryRLock() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writer != nil {
		return false
	}
	l.readers++
	return true
}

// RUnlock undoes one RLock or TryRLock.
func (l *Lock) RUnlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readers--; l.readers == 0 && l.free != nil {
		close(l.free)
		l.free = nil
	}
}

// Lock locks for writing, alone.
func (l *Lock) Lock(ctx context.Context) error {
	if err := l.turn(ctx); err != nil {
		return err
	}
	l.writer = make(chan struct{})
	if l.readers == 0 {
		l.mu.Unlock()
		return nil
	}
	free := make(chan struct{})
	l.free = free
	l.mu.Unlock()
	select {
	case <-free:
		return nil
	case <-ctx.Done():
		l.Unlock()
		return ctx.Err()
	}
}

// Unlock undoes Lock.
func (l *Lock) Unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.writer)
	l.writer, l.free = nil, nil
}

// turn returns with l.mu locked and no writer, or with an error.
func (l *Lock) turn(ctx context.Context) error {
	for {
		l.mu.Lock()
		writer := l.writer
		if writer == nil {
			return nil
		}
		l.mu.Unlock()
		select {
		case <-writer:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
