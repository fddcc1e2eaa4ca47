package current

import (
	"math"
	"sync"

	"github.com/andonhq/andon"
)

// silence knows which devices may be silent, so that counting those does not look at every device
// of a fleet. A device can only become silent by not being heard: one that was heard after a time
// when all were looked at need not be looked at again until that time counts as silent.
//
// The mutex is for readers among themselves. They hold the fleet's lock for readers too, so that
// meet, which is called while the fleet is being shown, has the fields for itself.
type silence struct {
	sync.Mutex
	before  andon.Time // every device that is shown and was heard before this is in numbers
	numbers []uint32   //
	met     andon.Time // the earliest arrival of those that came in since a look began
}

// silenceAhead is how much later than asked for all devices are looked at, so that this need not be
// done again soon.
const silenceAhead = andon.Duration(60 * 1_000_000)

// silenceStep is how many devices are looked at before writers are let in.
const silenceStep = 4096

// meet takes note of a device that came into a state.
func (s *silence) meet(received andon.Time) {
	s.met = min(s.met, received)
	s.before = min(s.before, received)
}

// Counts returns how many devices are in each state, and how many of those were heard before a time
// last. lock is the readers'.
func (f *Fleet) Counts(silentBefore andon.Time, lock sync.Locker) []andon.StateCount {
	f.silence.Lock()
	defer f.silence.Unlock()
	f.look(silentBefore, lock)
	lock.Lock()
	defer lock.Unlock()
	silent := f.silent(silentBefore)
	counts := make([]andon.StateCount, 0, len(f.states))
	for state, devices := range f.states {
		counts = append(counts, andon.StateCount{
			State: state, Count: devices.count, Silent: silent[state],
		})
	}
	return counts
}

// look looks at all devices unless those are known that were heard before a time, and lets writers
// in between.
func (f *Fleet) look(silentBefore andon.Time, lock sync.Locker) {
	lock.Lock()
	defer lock.Unlock()
	if silentBefore <= f.silence.before {
		return
	}
	before := silentBefore.Add(silenceAhead)
	f.silence.met, f.silence.numbers = math.MaxInt64, nil
	for from := uint32(0); from < f.behind; from += silenceStep {
		f.lookFrom(from, before)
		lock.Unlock()
		lock.Lock()
	}
	f.silence.before = min(before, f.silence.met)
}

// lookFrom looks at some devices from a number on.
func (f *Fleet) lookFrom(from uint32, before andon.Time) {
	for number := from; number < from+silenceStep; number++ {
		if s := f.At(number); s != nil && f.alive(s) && s.received < before {
			f.silence.numbers = append(f.silence.numbers, number)
		}
	}
}

// silent counts the devices that were heard before a time last, and drops those from what is to be
// looked at that were heard meanwhile.
func (f *Fleet) silent(before andon.Time) map[andon.State]int {
	in := map[andon.State]int{}
	kept := f.silence.numbers[:0]
	for _, number := range f.silence.numbers {
		s := f.At(number)
		if s == nil || !f.alive(s) || s.received >= f.silence.before {
			continue
		}
		kept = append(kept, number)
		if s.received < before {
			in[andon.State(f.names.name(s.state))]++
		}
	}
	f.silence.numbers = kept
	return in
}
