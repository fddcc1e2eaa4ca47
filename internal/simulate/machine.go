package simulate

import (
	"fmt"

	"github.com/andonhq/andon"
)

// machine is one device and the state it is in.
type machine struct {
	id        andon.DeviceID
	line      *line
	phase     andon.Duration // when within a round it reports
	flaps     bool           // it leaves normal and returns within a round, now and then
	level     int            // 0 normal, to 4
	troubled  int            // rounds since it left normal
	escalated bool           // in the present incident
	silent    int            // rounds that it still says nothing
}

// levels are the states of the default set by severity, with what a machine says in them.
var levels = [...]struct {
	state   andon.State
	message string
}{
	{"NORMAL", ""},
	{"WARNING1", "vibration above its usual range"},
	{"WARNING2", "bearing temperature high"},
	{"WARNING3", "overheat, speed reduced"},
	{"WARNING4", "emergency stop"},
}

// One in so many rounds of a machine.
const (
	troubleOneIn = 250
	stormyOneIn  = 2 // while its line has a storm
	recoverOneIn = 6
	worsenOneIn  = 4
	easeOneIn    = 6
	silenceOneIn = 1500
	flapOneIn    = 3 // of a machine that flaps
	flappingEach = 20

	shortestSilence = 4
	longestSilence  = 30
	patience        = 3 // rounds in a grave state before its operator escalates
	graveLevel      = 3
)

func (f *Fleet) newMachine(i int) machine {
	l := &f.lines[i%len(f.lines)]
	return machine{
		id:    andon.DeviceID(fmt.Sprintf("%s-%02d", l.kind, i/len(f.lines)+1)),
		line:  l,
		phase: f.within(f.every * 9 / 10),
		flaps: i%flappingEach == flappingEach/2,
	}
}

// work lets a machine live through one round.
func (f *Fleet) work(m *machine) {
	if f.chance(silenceOneIn) {
		m.silent = f.between(shortestSilence, longestSilence)
	}
	f.change(m)
	if m.silent > 0 {
		m.silent--
		return
	}
	at := f.now.Add(m.phase)
	f.send(m.report(at))
	if m.flaps && m.level == 0 && f.chance(flapOneIn) {
		f.flap(m, at)
	}
}

// change moves a machine to the state of this round.
func (f *Fleet) change(m *machine) {
	switch {
	case m.level == 0:
		f.fail(m)
	case f.chance(recoverOneIn):
		m.level, m.troubled, m.escalated = 0, 0, false
	case f.chance(worsenOneIn):
		m.level = min(m.level+1, len(levels)-1)
	case f.chance(easeOneIn):
		m.level = max(m.level-1, 1)
	}
	if m.level > 0 {
		m.troubled++
	}
}

func (f *Fleet) fail(m *machine) {
	oneIn := troubleOneIn
	if m.line.storm > 0 {
		oneIn = stormyOneIn
	}
	if f.chance(oneIn) {
		m.level = f.between(1, 2)
	}
}

// flap lets a machine leave normal and return before its next report.
func (f *Fleet) flap(m *machine, at andon.Time) {
	step := f.every / 40
	m.level = 1
	f.send(m.report(at.Add(step)))
	m.level = 0
	f.send(m.report(at.Add(2 * step)))
}

// report is what a machine says at a time. The first grave report that its operator loses patience
// over is escalated.
func (m *machine) report(at andon.Time) andon.Event {
	now := levels[m.level]
	e := andon.Event{
		Device: m.id, Time: at, State: now.state, Operator: m.line.operator(at), Message: now.message,
		Attributes: andon.JSON(fmt.Sprintf(`{"line":%q}`, m.line.name)),
	}
	if m.level >= graveLevel && m.troubled > patience && !m.escalated {
		m.escalated = true
		e.EscalatedTo = m.line.supervisor
	}
	return e
}
