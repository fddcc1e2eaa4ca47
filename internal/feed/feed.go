// Package feed is shared by stores that serve a feed of changes. It wakes the readers that wait for
// the next change, and has a feed in memory. It is pure: it knows no engine, no clock and no
// tenant.
package feed

import (
	"context"
	"sync"

	"github.com/andonhq/andon"
)

// Bell wakes those who wait for a change of one tenant. The zero value works. It is rung outside
// every lock of the store, once the change is visible.
type Bell struct {
	mu    sync.Mutex
	next  uint64 // sequence behind the newest change
	ended bool
	rung  chan struct{} // closed by the next ring; nil where no one waits
}

// Ring says that all changes before a sequence are visible.
func (b *Bell) Ring(next uint64) { b.wake(next, false) }

// Next returns the sequence behind the newest change.
func (b *Bell) Next() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

// End wakes all who wait, and all who will: there are no more changes.
func (b *Bell) End() { b.wake(0, true) }

func (b *Bell) wake(next uint64, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next, b.ended = max(b.next, next), b.ended || ended
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}

// Wait returns nil once there is a change at a sequence or behind it, or after End.
func (b *Bell) Wait(ctx context.Context, sequence uint64) error {
	for {
		b.mu.Lock()
		if b.ended || b.next > sequence {
			b.mu.Unlock()
			return ctx.Err()
		}
		if b.rung == nil {
			b.rung = make(chan struct{})
		}
		rung := b.rung
		b.mu.Unlock()
		select {
		case <-rung:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Gone is the error of a position that a feed can't resume.
func Gone() error {
	return andon.Errorf(andon.Gone, "the changes after this position are no longer kept here: "+
		"load what the devices show anew, and go on from the position of that")
}

// GoneEntries is the error of a position from which not all entries are kept in the order of their
// arrival.
func GoneEntries(oldest andon.Position) error {
	return andon.Errorf(andon.Gone, "the entries after this position are no longer kept in "+
		"the order of their arrival: the oldest position that is kept is %s. What came before it "+
		"is in the list by time", oldest)
}
