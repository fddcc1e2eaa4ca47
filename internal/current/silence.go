package current

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/andonhq/andon"
)

// silence knows how many devices are silent, that is, were not heard since a given
// time. A count for another time visits only the devices that were heard between the two. So a
// count costs the same when a whole fleet is silent.
//
// The mutex is for readers among themselves. They hold the fleet's lock for readers too, so that
// uncounted and counted, which are called while the fleet is being shown, have the fields for
// themselves.
type silence struct {
	sync.Mutex
	until andon.Time // what the counts are for; at most before

	before andon.Time // each device that is shown and was heard before this is in list
	list   []heard    // by time; those that were heard again count no longer
	next   int        // the first of list that was not heard before until
	missed andon.Time // the earliest time at which one was heard that scan may have missed
}

// heard is when a device was heard last.
type heard struct {
	at     andon.Time
	number uint32
}

// notShown is when a device was heard last that is not shown.
const notShown andon.Time = math.MaxInt64

// silenceAhead is how much later than requested the devices are listed, so that this need not be
// done again soon.
const silenceAhead = andon.Duration(60 * 1_000_000)

// silenceStep is how many devices are visited before writers get the lock.
const silenceStep = 4096

func (f *Fleet) heardAt(s *Slot) andon.Time {
	if s == nil || !f.alive(s) {
		return notShown
	}
	return s.received
}

// uncounted removes a device that is about to change from the count, and returns when it was heard.
func (f *Fleet) uncounted(s *Slot) (at andon.Time) {
	if at = f.heardAt(s); at < f.silence.until {
		f.countSilent(s, -1)
	}
	return at
}

// counted adds a device to the count that has changed, and was heard at a time before.
func (f *Fleet) counted(s *Slot, before andon.Time) {
	at := f.heardAt(s)
	if at != before {
		f.note(at)
	}
	if at < f.silence.until {
		f.countSilent(s, 1)
	}
}

// note notes a device that is not in the list as it is now. One that came back as it was long ago,
// as when its retirement is withdrawn, makes the count begin again.
func (f *Fleet) note(at andon.Time) {
	s := &f.silence
	s.missed, s.before = min(s.missed, at), min(s.before, at)
	if s.before < s.until {
		s.until, s.next = 0, 0
		for of, n := range f.counts {
			f.counts[of] = count{shown: n.shown}
		}
	}
}

// Counts returns how many devices of each group are in each state, and how many of those were heard
// before a time last. lock is the readers'.
func (f *Fleet) Counts(silentBefore andon.Time, lock sync.Locker) []andon.StateCount {
	f.silence.Lock()
	defer f.silence.Unlock()
	lock.Lock()
	defer lock.Unlock()
	if silentBefore > f.silence.before {
		f.scan(silentBefore, lock)
	}
	if silentBefore > f.silence.before { // something came back meanwhile
		f.scan(silentBefore, heldLock{})
	}
	if silentBefore > 0 {
		f.silentUntil(silentBefore)
	}
	all := make([]andon.StateCount, 0, len(f.counts))
	for of, n := range f.counts {
		if silentBefore <= 0 { // they may be of an earlier call
			n.silent = 0
		}
		all = append(all, andon.StateCount{
			Group: of.group, State: andon.State(f.names.name(of.state)),
			Count: n.shown, Silent: n.silent,
		})
	}
	return all
}

// heldLock is a lock that is not released.
type heldLock struct{}

// Lock implements sync.Locker.
func (heldLock) Lock() {}

// Unlock implements sync.Locker.
func (heldLock) Unlock() {}

// scan lists the devices that were heard before a time. Writers get the lock in between. Those that
// are known already need no order.
func (f *Fleet) scan(silentBefore andon.Time, lock sync.Locker) {
	s := &f.silence
	known, before := s.before, silentBefore.Add(silenceAhead)
	s.missed = notShown
	list := slices.DeleteFunc(s.list, func(h heard) bool {
		return h.at >= known || f.heardAt(f.Numbered(h.number)) != h.at
	})
	sorted := len(list)
	for from := uint32(0); from < f.end; from += silenceStep {
		for number := from; number < from+silenceStep; number++ {
			if at := f.heardAt(f.Numbered(number)); at >= known && at < before {
				list = append(list, heard{at, number})
			}
		}
		lock.Unlock()
		lock.Lock()
	}
	lock.Unlock()
	slices.SortFunc(list[sorted:], func(a, b heard) int { return cmp.Compare(a.at, b.at) })
	lock.Lock()
	if cap(list) > 2*len(list)+silenceStep { // a fleet that was silent is heard again
		list = slices.Clone(list)
	}
	s.list, s.before = list, min(before, s.missed)
	s.next, _ = slices.BinarySearchFunc(list, s.until, func(h heard, until andon.Time) int {
		return cmp.Compare(h.at, until)
	})
}

// silentUntil counts the devices that were heard before a time, which is at most silence.before.
func (f *Fleet) silentUntil(silentBefore andon.Time) {
	s := &f.silence
	for ; s.next < len(s.list) && s.list[s.next].at < silentBefore; s.next++ {
		f.add(s.list[s.next], 1)
	}
	for ; s.next > 0 && s.list[s.next-1].at >= silentBefore; s.next-- {
		f.add(s.list[s.next-1], -1)
	}
	s.until = silentBefore
}

// add adds to the count of a device's state, if it was not heard again.
func (f *Fleet) add(h heard, n int) {
	if s := f.Numbered(h.number); f.heardAt(s) == h.at {
		f.countSilent(s, n)
	}
}
