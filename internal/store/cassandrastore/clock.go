package cassandrastore

import (
	"sync"
	"time"
)

// ownClock is the clock of this process alone, which no setting of the time moves. It knows the
// time of day only to see that the machine was suspended, when some clocks stand still.
type ownClock struct {
	begun time.Time

	mu    sync.Mutex
	ahead time.Duration // of the time of day before this clock
}

func newClock() *ownClock { return &ownClock{begun: time.Now()} }

// jumpOf is by how much the time of day must have gone ahead for a jump.
const jumpOf = time.Second

// now returns the time since the process began, and whether the time of day jumped ahead meanwhile.
func (c *ownClock) now() (now moment, jumped bool) {
	t := time.Now()
	passed := t.Sub(c.begun)
	ahead := t.Round(0).Sub(c.begun.Round(0)) - passed
	c.mu.Lock()
	defer c.mu.Unlock()
	jumped = ahead > c.ahead+jumpOf
	c.ahead = ahead
	return moment(passed) + 1, jumped
}
