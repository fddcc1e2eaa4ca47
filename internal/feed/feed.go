// Package feed is shared by stores that serve a feed of changes: it wakes the readers that wait for
// the next change. It is pure: it knows no engine, no clock and no tenant.
package feed

import (
	"context"
	"sync"

	"github.com/andonhq/andon"
)

// Wakeup wakes the readers that wait for a change of one tenant. The zero value works. Notify is
// called once the change is visible, or with the lock that readers of changes take.
type Wakeup struct {
	mu    sync.Mutex
	next  uint64 // the sequence after the newest change
	ended bool
	woken chan struct{} // closed by the next Notify; nil where no reader waits
}

// Notify says that all changes before a sequence are visible.
func (w *Wakeup) Notify(next uint64) { w.wake(next, false) }

// Next returns the sequence after the newest change.
func (w *Wakeup) Next() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next
}

// End wakes all readers that wait, and all that will: there are no more changes.
func (w *Wakeup) End() { w.wake(0, true) }

func (w *Wakeup) wake(next uint64, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next, w.ended = max(w.next, next), w.ended || ended
	if w.woken != nil {
		close(w.woken)
		w.woken = nil
	}
}

// Wait returns nil once there is a change at a sequence or after it, or after End.
func (w *Wakeup) Wait(ctx context.Context, sequence uint64) error {
	for {
		w.mu.Lock()
		if w.ended || w.next > sequence {
			w.mu.Unlock()
			return ctx.Err()
		}
		if w.woken == nil {
			w.woken = make(chan struct{})
		}
		woken := w.woken
		w.mu.Unlock()
		select {
		case <-woken:
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
