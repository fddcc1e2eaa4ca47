package intake

import (
	"container/list"
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/andonhq/andon"
)

// Share is one kind of work's part of the machine: so much of it is under way at once. What comes
// beyond waits in the order of arrival, and is refused where it could not begin within the longest
// wait of the share: a client that is refused can go elsewhere, one that waits without an end
// can't.
//
// A burst may wait that long. Where the queue has stood for longer than that, waiting brings no
// client anything: the same number is let in, only later. Then the longest wait is workAim, and the
// queue is short for those that are let in (controlled delay, as CoDel has it for routers).
//
// How much is let in follows from how long it takes. While work takes longer than its aim, less is
// let in step by step, and more again once it is quick and more is asked for. So a slow disk or a
// shared store does not turn what was admitted into another queue.
type Share struct {
	Name    string
	maxWait time.Duration
	now     func() andon.Time

	mu      sync.Mutex
	limit   int64 // between least and most
	used    int64
	working int        // how much work is under way, whatever it weighs
	shrunk  andon.Time // when the limit was last made less
	waiting list.List  // of *waiter
	emptied andon.Time // when waiting was last empty before it got what it has now

	least, most int64
}

// waiter is work that waits. admitted is closed once it has been let in.
type waiter struct {
	weight   int64
	maxWait  time.Duration
	place    *list.Element
	admitted chan struct{}
}

const (
	// workAim is how long admitted work may take before less is let in, and how long work waits in
	// a standing queue: what is accepted then ends well within two seconds.
	workAim = 300 * time.Millisecond
	// shrinkPause lets what was admitted before a step end before the next one.
	shrinkPause = 100 * time.Millisecond
)

func newShare(name string, least, most int64, o *Options) *Share {
	least = min(least, most)
	begin := max(least, most/4)
	return &Share{
		Name: name, maxWait: o.MaxWait, now: o.Now, least: least, most: most, limit: begin,
	}
}

// Slot is work that was let in. It is left once: leaving it again does nothing.
type Slot struct {
	share  *Share // nil where there is nothing to leave
	weight int64
	begun  andon.Time
}

// Leave ends the work.
func (s *Slot) Leave() {
	if s.share != nil {
		s.share.leave(s.weight, s.begun)
		s.share = nil
	}
}

// Entered reports whether the slot is yet to be left.
func (s *Slot) Entered() bool { return s.share != nil }

// Enter waits until work of a weight may begin. It is Busy where that takes longer than the
// longest wait, or, in a standing queue, than workAim.
func (s *Share) Enter(ctx context.Context, weight int64) (Slot, error) {
	if w := s.queue(weight); w != nil {
		if err := s.await(ctx, w); err != nil {
			return Slot{}, err
		}
	}
	return Slot{share: s, weight: weight, begun: s.now()}, nil
}

// queue lets work in, and returns nil, or puts it at the end of the queue.
func (s *Share) queue(weight int64) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting.Len() == 0 && s.fits(weight) {
		s.used += weight
		s.working++
		return nil
	}
	now := s.now()
	if s.waiting.Len() == 0 {
		s.emptied = now
	}
	w := &waiter{weight: weight, maxWait: s.maxWait, admitted: make(chan struct{})}
	if since(s.emptied, now) > s.maxWait {
		w.maxWait = min(s.maxWait, workAim)
	}
	w.place = s.waiting.PushBack(w)
	return w
}

// fits reports whether there is capacity for work of a weight. Work that is heavier than all of the
// share is let in alone. The caller holds s.mu.
func (s *Share) fits(weight int64) bool { return s.used == 0 || s.used+weight <= s.limit }

// admit lets in what waits in front and fits. The caller holds s.mu.
func (s *Share) admit() {
	for e := s.waiting.Front(); e != nil; e = s.waiting.Front() {
		w := e.Value.(*waiter)
		if !s.fits(w.weight) {
			return
		}
		s.used += w.weight
		s.working++
		s.waiting.Remove(e)
		close(w.admitted)
	}
}

func (s *Share) await(ctx context.Context, w *waiter) error {
	timer := time.NewTimer(w.maxWait)
	defer timer.Stop()
	select {
	case <-w.admitted:
		return nil
	case <-ctx.Done():
		if s.giveUp(w) {
			return ctx.Err()
		}
	case <-timer.C:
		if s.giveUp(w) {
			return andon.Errorf(andon.Busy,
				"more %s arrive than can be worked at: try again in a second", s.Name)
		}
	}
	return nil
}

// giveUp takes work out of the queue, unless it was let in meanwhile. What waited after it may fit.
func (s *Share) giveUp(w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.admitted:
		return false
	default:
	}
	s.waiting.Remove(w.place)
	s.admit()
	return true
}

func (s *Share) leave(weight int64, begun andon.Time) {
	now := s.now()
	took := since(begun, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= weight
	s.working--
	switch {
	case took > workAim:
		if since(s.shrunk, now) > shrinkPause {
			s.shrunk, s.limit = now, max(s.limit-s.limit/8, s.least)
		}
	case took < workAim/2 && s.waiting.Len() > 0:
		s.limit = min(s.limit+weight, s.most)
	}
	s.admit()
}

func since(from, to andon.Time) time.Duration { return time.Duration(to-from) * time.Microsecond }

// Shares divide the machine, so that none of them starves the others.
type Shares struct {
	Writes  *Share // requests of up to LargeRequest; weighs bytes
	Imports *Share // larger ones, so that a device never waits for a file; weighs bytes
	Reads   *Share // weighs 1 each
}

// Busy reports whether writes are under way for half of the processors, or more: the clients may be
// on the same machine.
func (s *Shares) Busy() bool {
	n := 0
	for _, share := range []*Share{s.Writes, s.Imports} {
		share.mu.Lock()
		n += share.working
		share.mu.Unlock()
	}
	return 2*n >= runtime.GOMAXPROCS(0)
}

// LargeRequest is how many bytes a request has that is no longer a device's message.
const LargeRequest = 64 << 10

func newShares(o *Options) Shares {
	cores := int64(runtime.GOMAXPROCS(0))
	writes, imports := cores*2<<20, cores*8<<20
	return Shares{
		Writes:  newShare("writes", writes/16, writes, o),
		Imports: newShare("imports", LargeRequest, imports, o),
		Reads:   newShare("reads", 8*cores, int64(o.MaxReads), o),
	}
}

// ForWrite returns the share of a request that changes something and has a body of size bytes, and
// what it weighs there.
func (in *Intake) ForWrite(size int64) (share *Share, weight int64) {
	if size > LargeRequest {
		return in.Imports, size
	}
	return in.Writes, max(size, in.Writes.most/int64(in.options.MaxRequests), 1)
}

// Enter waits for a turn of a writing request of some bytes, which takes so much memory with what
// is made of it. It is for what is no request of HTTP: a message that takes more than a quarter of
// the memory must get its turn some time, so it takes just that.
func (in *Intake) Enter(ctx context.Context, bytes, memory int64) (leave func(), err error) {
	memory = min(memory, in.Requests.Most()/4)
	if err := in.Requests.Take(memory); err != nil {
		return nil, err
	}
	share, weight := in.ForWrite(bytes)
	slot, err := share.Enter(ctx, weight)
	if err != nil {
		in.Requests.Give(memory)
		return nil, err
	}
	return func() {
		slot.Leave()
		in.Requests.Give(memory)
	}, nil
}
