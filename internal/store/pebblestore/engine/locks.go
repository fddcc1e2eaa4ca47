package engine

import (
	"context"
	"sync"

	"github.com/andonhq/andon/internal/rwlock"
)

// The order of the locks of a store. A goroutine that holds one takes only locks that are listed
// after it. With the race detector each lock checks that, and panics where the order is broken, so
// that tests with the detector find a deadlock before two goroutines meet in it.
//
// Locks that are not listed are held for a few statements that take no other lock.
const (
	// LockMerge is held by a merge of sorted runs, from its choice of runs to its end.
	LockMerge Rank = iota + 1
	// LockMergeReadings is the same for readings.
	LockMergeReadings
	// LockSnapshot is held while a backup is taken.
	LockSnapshot
	// LockFlush is held by a flush of entries, and by a deletion of any kind.
	LockFlush
	// LockFlushReadings is the same for readings.
	LockFlushReadings
	// LockWrites is that of a tenant: writes share it, a purge has it alone.
	LockWrites
	// LockReadingRows is shared by writes of readings; the next generation begins under it alone.
	LockReadingRows
	// LockRuns guards which sorted runs there are. A merge ends under it.
	LockRuns
	// LockReadingRuns is the same for runs of readings.
	LockReadingRuns
	// LockOrder is the ordered section, in which one write at a time becomes pending.
	LockOrder
	// LockDocuments guards the versions of records.
	LockDocuments
	// LockQueue guards what is pending, and is held while that is published.
	LockQueue
	// LockShown guards the tenants that there are, and what their devices show.
	LockShown
	// LockMemory guards the memtables.
	LockMemory
)

// Rank is the place of a lock in the order of the locks; 0: it is not checked.
type Rank int

// RWMutex is a sync.RWMutex with a rank.
type RWMutex struct {
	mu   sync.RWMutex
	Rank Rank
}

// Lock locks it for writing.
func (m *RWMutex) Lock() {
	Enter(m.Rank)
	m.mu.Lock()
}

// TryLock locks it for writing if it is free.
func (m *RWMutex) TryLock() bool {
	ok := m.mu.TryLock()
	if ok {
		Enter(m.Rank)
	}
	return ok
}

// Unlock undoes Lock.
func (m *RWMutex) Unlock() {
	m.mu.Unlock()
	Leave(m.Rank)
}

// RLock locks it for reading.
func (m *RWMutex) RLock() {
	Enter(m.Rank)
	m.mu.RLock()
}

// RUnlock undoes RLock.
func (m *RWMutex) RUnlock() {
	m.mu.RUnlock()
	Leave(m.Rank)
}

// RLocker returns a Locker that locks it for reading.
func (m *RWMutex) RLocker() sync.Locker { return reading{m} }

type reading struct{ *RWMutex }

func (r reading) Lock()   { r.RLock() }
func (r reading) Unlock() { r.RUnlock() }

// SharedLock is a rwlock.Lock with a rank.
type SharedLock struct {
	lock rwlock.Lock
	Rank Rank
}

// Lock locks it for writing, alone.
func (l *SharedLock) Lock(ctx context.Context) error { return l.enter(ctx, l.lock.Lock) }

// RLock locks it for reading.
func (l *SharedLock) RLock(ctx context.Context) error { return l.enter(ctx, l.lock.RLock) }

func (l *SharedLock) enter(ctx context.Context, lock func(context.Context) error) error {
	Enter(l.Rank)
	err := lock(ctx)
	if err != nil {
		Leave(l.Rank)
	}
	return err
}

// Unlock undoes Lock.
func (l *SharedLock) Unlock() {
	l.lock.Unlock()
	Leave(l.Rank)
}

// RUnlock undoes RLock.
func (l *SharedLock) RUnlock() {
	l.lock.RUnlock()
	Leave(l.Rank)
}
