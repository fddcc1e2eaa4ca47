package pebblestore

import "sync/atomic"

// crowd lets more writes share one sync. Each write that goes into the log wakes the goroutine that
// writes it out and syncs, and that runs at once, with the one write that woke it; so the next sync
// is for all that came meanwhile, and each costs as much as several requests. Where many writes
// come at once, it lets the goroutines run first that can run. Those are mostly requests on their
// way here. It waits for nothing: where none can run it goes on.
//
// Where few writes come it does not give way. It would wait behind whatever else is being computed,
// and bring them nothing.
type crowd struct {
	staged  atomic.Int64 // writes that went into the log
	flushed atomic.Int64 // those of them that had, when it was written out last
	giveWay func()
}

// enough is how many writes between two flushes are a crowd.
const enough = 8

// joined counts a write that went into the log.
func (c *crowd) joined() { c.staged.Add(1) }

// gather is called before the log is written out.
func (c *crowd) gather() {
	staged := c.staged.Load()
	if staged-c.flushed.Swap(staged) >= enough {
		c.giveWay()
	}
}
