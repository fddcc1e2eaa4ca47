package bench

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/andonhq/andon"
)

// mixed makes up events of a fleet as real ones are: a few devices send half of all events,
// gateways come back after a while and send what they have kept, senders repeat what they are not
// sure of, and anybody may be the operator. The n-th event follows from the seed and n alone, so
// any number of callers can make them.
type mixed struct {
	seed uint64
	*fleet
	step andon.Duration // from one event to the next
}

// What the events are like.
const (
	busiestShare  = 100 // one device in so many is one of the busiest, which send half of all
	mixedSpan     = andon.Duration(24 * 3_600_000_000)
	latest        = andon.Duration(600_000_000) // how much older than another of its device one is
	newest        = 64                          // events, to one of which a late one is late
	recent        = 50_000                      // events, one of which is repeated
	lateShare     = 0.05
	repeatedShare = 0.02
	escalateShare = 0.02

	mixedOperators   = 500
	mixedSupervisors = 20
)

// mixedStates are the states with their shares, from the rarest on.
var mixedStates = []struct {
	state andon.State
	share float64
}{{"WARNING4", 0.005}, {"WARNING3", 0.015}, {"WARNING2", 0.03}, {"WARNING1", 0.05}}

// newMixed makes a fleet that reports so many events in 24 hours.
func newMixed(seed uint64, f *fleet, events int) *mixed {
	f.operators = make([]andon.PersonID, mixedOperators)
	for i := range f.operators {
		f.operators[i] = andon.PersonID(fmt.Sprintf("operator-%04d", i))
	}
	f.homes = []home{{state: "WARNING1"}}
	return &mixed{seed: seed, fleet: f, step: mixedSpan / andon.Duration(events)}
}

// time is when the n-th event happens, unless it is late.
func (m *mixed) time(n int) andon.Time { return base.Add(andon.Duration(n) * m.step) }

// event returns the n-th event.
func (m *mixed) event(n int) andon.Event {
	dice := rand.New(rand.NewPCG(m.seed, uint64(n)))
	e := andon.Event{Time: m.time(n)}
	switch kind := dice.Float64(); {
	case n < recent:
	case kind < repeatedShare:
		return m.event(n - 1 - dice.IntN(recent))
	case kind < repeatedShare+lateShare:
		other := n - 1 - dice.IntN(newest)
		e.Device = m.event(other).Device
		e.Time = m.time(other).Add(-1 - andon.Duration(dice.Int64N(int64(latest))))
	}
	if e.Device == "" {
		of := len(m.devices)
		if dice.IntN(2) == 0 {
			of = max(of/busiestShare, 1)
		}
		e.Device = m.devices[m.order[dice.IntN(of)]]
	}
	e.State = "NORMAL"
	state := dice.Float64()
	for _, s := range mixedStates {
		if state < s.share {
			e.State = s.state
			break
		}
		state -= s.share
	}
	e.Operator = m.operators[dice.IntN(mixedOperators)]
	e.Message = fmt.Sprintf("measured by the head: %08d", dice.IntN(100_000_000))
	e.Attributes = andon.JSON(fmt.Sprintf(`{"pressure":%.4f,"speed":%.4f,"temperature":%.4f}`,
		dice.Float64(), dice.Float64(), dice.Float64()))
	if m.escalate && dice.Float64() < escalateShare {
		e.EscalatedTo = mixedSupervisor(dice.IntN(mixedSupervisors))
	}
	return e
}

func mixedSupervisor(n int) andon.PersonID {
	return andon.PersonID(fmt.Sprintf("supervisor-%d", n%mixedSupervisors))
}

// events returns events from a number on, in the order in which a store takes them, each once.
func (m *mixed) events(from, count int) []andon.Event {
	events := make([]andon.Event, count)
	for i := range events {
		events[i] = m.event(from + i)
	}
	return andon.SortBatch(events)
}

// counts returns how many devices are in each state after so many events.
func (m *mixed) counts(events int) map[andon.State]int {
	shown := make(map[andon.DeviceID]andon.Event, len(m.devices))
	for n := range events {
		e := m.event(n)
		was, seen := shown[e.Device]
		if !seen || cmp.Or(cmp.Compare(was.Time, e.Time), cmp.Compare(was.State, e.State)) < 0 {
			shown[e.Device] = e
		}
	}
	counts := map[andon.State]int{}
	for _, e := range shown {
		counts[e.State]++
	}
	return counts
}
