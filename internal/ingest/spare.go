package ingest

import "sync"

// Spare is room for the entries of requests that was used before: those of a request of many are
// most of the garbage that it makes. The zero value is ready.
type Spare[T any] struct{ pool sync.Pool }

// For fewer entries it is not worth it, and more, about half a MB, is too much to keep.
const leastRoom, mostRoom = 32, 4096

// Get returns room that was used before and is empty, nil where there is none.
func (r *Spare[T]) Get() []T {
	if room, ok := r.pool.Get().(*[]T); ok {
		return *room
	}
	return nil
}

// Put takes room that nothing may look at any more.
func (r *Spare[T]) Put(room []T) {
	if n := cap(room); n >= leastRoom && n <= mostRoom {
		clear(room) // what it holds is a part of the body
		room = room[:0]
		r.pool.Put(&room)
	}
}
