package simulate

import "github.com/andonhq/andon"

// sighting is an entry as the people see it on the board: once it has arrived.
type sighting struct {
	machine *machine
	time    andon.Time
	state   andon.State
	level   int
}

// care is what the people know of a machine and do about it.
type care struct {
	seen     sighting       // its newest entry
	operator andon.PersonID // who is assigned to it
	troubled int            // rounds that the operator has seen it in trouble
	normal   int            // rounds that it has been normal again

	supervisor andon.PersonID // to whom it is escalated
	raised     sighting       // which entry was
}

// recovery returns in one of how many rounds a trouble ends.
func (c *care) recovery() int {
	switch {
	case c.supervisor != "":
		return helpedOneIn
	case c.operator != "":
		return fixedOneIn
	}
	return recoversOneIn
}

const (
	noticedOneIn   = 2 // rounds in trouble
	normalRounds   = 2 // of a device that is normal again before its operator leaves it
	untilEscalated = 3 // rounds before an operator escalates
	graveLevel     = 3 // from which on
	easyLevel      = 1 // at which an escalation is withdrawn
)

// see takes in what has arrived by now. A late entry does not change what a device shows.
func (f *Fleet) see() {
	for _, s := range f.sightings.take(f.next) {
		if c := &s.machine.care; s.time > c.seen.time {
			c.seen = s
		}
	}
}

// look lets the people act on what they see of a machine, at some time of this round.
func (f *Fleet) look(m *machine) {
	c, at := &m.care, f.next.Add(f.within(f.every))
	if c.seen.level == 0 {
		f.leave(m, at)
		return
	}
	c.normal = 0
	operator := m.line.operators[f.shift()]
	switch {
	case c.operator == "" && !f.chance(noticedOneIn):
		return
	case c.operator != operator: // noticed, or the shift has changed
		c.operator = operator
		f.assign(m, at)
		return
	}
	c.troubled++
	switch {
	case c.supervisor == "" && c.seen.level >= graveLevel && c.troubled > untilEscalated:
		c.supervisor, c.raised = m.line.supervisors[f.shift()], c.seen
		f.escalate(m, at, "does not get better")
	case c.supervisor != "" && c.seen.level <= easyLevel:
		f.withdraw(m, at, "under control")
	}
}

// leave ends the care for a machine that has been normal for a while.
func (f *Fleet) leave(m *machine, at andon.Time) {
	c := &m.care
	if c.operator == "" {
		return
	}
	if c.normal++; c.normal <= normalRounds {
		return
	}
	if c.supervisor != "" && f.chance(2) { // the others leave it in the supervisor's list
		f.withdraw(m, at, "solved")
	}
	*c = care{seen: c.seen}
	f.assign(m, at)
}

func (f *Fleet) assign(m *machine, at andon.Time) {
	f.assignments.push(at, andon.Assignment{Device: m.id, Operator: m.care.operator, From: at})
}

func (f *Fleet) withdraw(m *machine, at andon.Time, note string) {
	m.care.supervisor, m.care.troubled = "", 0
	f.escalate(m, at, note)
}

// escalate puts down to whom the raised entry of a machine is escalated now.
func (f *Fleet) escalate(m *machine, at andon.Time, note string) {
	c := &m.care
	f.escalations.push(at, andon.Escalation{
		Device: m.id, Time: c.raised.time, State: c.raised.state,
		At: at, To: c.supervisor, By: c.operator, Note: note,
	})
}
