//go:build race

package engine

import (
	"fmt"
	"slices"
	"sync"

	"github.com/petermattis/goid"
)

// held is which locks each goroutine holds. It is there with the race detector only.
var held = struct {
	sync.Mutex
	by map[int64][]Rank
}{by: map[int64][]Rank{}}

// Enter says that a lock is about to be taken, and panics where the goroutine holds one that comes
// after it in the order of the locks, or the same.
func Enter(r Rank) {
	if r == 0 {
		return
	}
	g := goid.Get()
	held.Lock()
	defer held.Unlock()
	if ranks := held.by[g]; len(ranks) > 0 && slices.Max(ranks) >= r {
		panic(fmt.Sprintf("lock %d is taken while lock %d is held", r, slices.Max(ranks)))
	}
	held.by[g] = append(held.by[g], r)
}

// Leave says that a lock was given back.
func Leave(r Rank) {
	if r == 0 {
		return
	}
	g := goid.Get()
	held.Lock()
	defer held.Unlock()
	if i := slices.Index(held.by[g], r); i >= 0 {
		held.by[g] = slices.Delete(held.by[g], i, i+1)
	}
	if len(held.by[g]) == 0 {
		delete(held.by, g)
	}
}
