//go:build race

package engine

import "testing"

// TestOrderOfLocks takes two locks in the order, and in the other one.
func TestOrderOfLocks(t *testing.T) {
	first, second := RWMutex{Rank: LockFlush}, RWMutex{Rank: LockRuns}
	for range 2 {
		first.Lock()
		second.RLock()
		second.RUnlock()
		first.Unlock()
	}
	defer func() {
		if recover() == nil {
			t.Error("nothing was said")
		}
	}()
	second.Lock()
	defer second.Unlock()
	first.Lock()
}
