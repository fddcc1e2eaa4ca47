package simulate

import (
	"fmt"

	"github.com/andonhq/andon"
)

type machine struct {
	id         andon.DeviceID
	line       *line
	attributes andon.JSON
	phase      andon.Duration // when within a round it reports
	flaps      bool           // it leaves normal and returns within a round, now and then
	usual      float64        // its strain while all is well

	// Strain is what the readings show and the states follow from: 0 at rest, 1 at the end of what
	// the machine bears. It moves towards its goal, so the readings drift before the state changes.
	strain, goal float64
	pace         float64 // how much of the way to its goal it moves in a round
	cause        *gauge  // of its trouble; nil while there is none
	level        int     // 0 normal, to 4

	silent  int  // rounds for which it can't be heard yet
	backlog bool // what it says meanwhile arrives afterwards

	care care
}

// level is a state of the default set, and the strain from which on a machine is in it.
type level struct {
	state andon.State
	limit float64
	does  string // what the machine does about it
}

func levels() [5]level {
	return [...]level{
		{"NORMAL", 0, ""},
		{"WARNING1", 0.40, ""},
		{"WARNING2", 0.55, ""},
		{"WARNING3", 0.70, "speed reduced: "},
		{"WARNING4", 0.85, "stopped: "},
	}
}

// One in so many rounds of a machine.
const (
	troubleOneIn  = 400
	stormyOneIn   = 3  // while its line has a storm
	recoversOneIn = 16 // by itself
	fixedOneIn    = 6  // by its operator
	helpedOneIn   = 3  // with a supervisor's help
	silenceOneIn  = 1500
	backlogOneIn  = 2 // of the silences
	flapOneIn     = 3 // of a machine that flaps
	flappingOneIn = 20
)

// In rounds.
const (
	shortestSilence = 4
	longestSilence  = 30
)

// How strain moves.
const (
	leastStrain, usualSpread = 0.10, 0.10
	leastTrouble             = 0.50 // goals of a strain in trouble
	troubleSpread            = 0.55
	creeping, sudden, easing = 0.18, 0.80, 0.50 // paces
	sticking                 = 0.04             // a state is left this much below its limit
	jitter                   = 0.012
)

func (f *Fleet) newMachine(i int) machine {
	l := &f.lines[i%len(f.lines)]
	usual := leastStrain + f.rand.Float64()*usualSpread
	return machine{
		id:         andon.DeviceID(fmt.Sprintf("%s-%02d", l.kind, i/len(f.lines)+1)),
		line:       l,
		attributes: andon.JSON(fmt.Sprintf(`{"line":%q}`, l.name)),
		phase:      f.within(f.every * 9 / 10),
		flaps:      i%flappingOneIn == flappingOneIn/2,
		usual:      usual, strain: usual, goal: usual, pace: easing,
	}
}

func (f *Fleet) work(m *machine) {
	f.fare(m)
	f.drift(m)
	if m.silent > 0 {
		m.silent--
	} else if f.chance(silenceOneIn) {
		m.silent, m.backlog = f.between(shortestSilence, longestSilence), f.chance(backlogOneIn)
	}
	at := f.next.Add(m.phase)
	f.report(m, at)
	if m.flaps && m.level == 0 && f.chance(flapOneIn) {
		f.flap(m, at)
	}
}

// fare begins and ends the troubles of a machine.
func (f *Fleet) fare(m *machine) {
	storm := m.line.storm > 0
	switch {
	case m.cause == nil && storm && f.chance(stormyOneIn):
		f.trouble(m, m.line.cause, sudden)
	case m.cause == nil && f.chance(troubleOneIn):
		f.trouble(m, f.anyCause(), creeping)
	case m.cause != nil && !storm && f.chance(m.care.recovery()):
		m.cause, m.goal, m.pace = nil, m.usual, easing
	}
}

func (f *Fleet) trouble(m *machine, c *gauge, pace float64) {
	m.cause, m.pace = c, pace
	m.goal = leastTrouble + f.rand.Float64()*troubleSpread
}

// drift moves the strain, and the state with it. A state is left a little below where it is
// entered, so that noise alone does not change it.
func (f *Fleet) drift(m *machine) {
	m.strain = max(0, m.strain+(m.goal-m.strain)*m.pace+f.noise(jitter))
	all := levels()
	for m.level+1 < len(all) && m.strain >= all[m.level+1].limit {
		m.level++
	}
	for m.level > 0 && m.strain < all[m.level].limit-sticking {
		m.level--
	}
}

// flap lets a machine leave normal and return before its next report.
func (f *Fleet) flap(m *machine, at andon.Time) {
	step, strain, cause := max(f.every/40, 1), m.strain, m.cause
	m.level, m.strain, m.cause = 1, levels()[1].limit+sticking, f.anyCause()
	f.report(m, at.Add(step))
	m.level, m.strain, m.cause = 0, strain, cause
	f.report(m, at.Add(2*step))
}

const (
	lateOneIn    = 50 // messages
	doubledOneIn = 50
	latestRounds = 6 // how late a message may be
)

// report lets a machine say its state, and what explains it, at a time.
func (f *Fleet) report(m *machine, at andon.Time) {
	metrics := f.measure(m)
	e := andon.Event{
		Device: m.id, Time: at, State: levels()[m.level].state,
		Message: m.explain(metrics), Attributes: m.attributes,
	}
	r := andon.Reading{Device: m.id, Time: at, Metrics: metrics}
	arrival, lost := f.arrival(m, at)
	if lost {
		return
	}
	f.readings.push(arrival, r)
	f.events.push(arrival, e)
	f.sightings.push(arrival, sighting{m, at, e.State, m.level})
	if f.chance(doubledOneIn) {
		f.events.push(arrival.Add(f.within(f.every)), e)
	}
	if f.chance(doubledOneIn) {
		f.readings.push(arrival.Add(f.within(f.every)), r)
	}
}

// arrival returns when a message of a machine arrives: mostly at once. What a silent machine says
// is lost, or waits in it until it can be heard again.
func (f *Fleet) arrival(m *machine, at andon.Time) (arrival andon.Time, lost bool) {
	switch {
	case m.silent > 0:
		return at.Add(f.every * andon.Duration(m.silent)), !m.backlog
	case f.chance(lateOneIn):
		return at.Add(f.within(f.every * latestRounds)), false
	}
	return at, false
}
