package simulate

import "github.com/andonhq/andon"

// line is one production line: its machines are of one kind, and its people work in shifts.
type line struct {
	name       string
	kind       string            // of its machines
	operators  [3]andon.PersonID // by shift: night, day, evening
	supervisor andon.PersonID
	storm      int // rounds that the present storm still lasts
}

func newLines() []line {
	type shifts = [3]andon.PersonID
	return []line{
		{name: "L1", kind: "press", operators: shifts{"Nia", "Liz", "Tom"}, supervisor: "Sara"},
		{name: "L2", kind: "weld", operators: shifts{"Nia", "Sue", "Raj"}, supervisor: "Sara"},
		{name: "L3", kind: "paint", operators: shifts{"Kim", "Liz", "Ana"}, supervisor: "Omar"},
		{name: "L4", kind: "pack", operators: shifts{"Kim", "Sue", "Ben"}, supervisor: "Omar"},
	}
}

// operator returns who works at a time. Shifts change at 06:00, 14:00 and 22:00 UTC.
func (l *line) operator(at andon.Time) andon.PersonID {
	return l.operators[(at.Hour()+2)%24/8]
}

const (
	stormOneIn    = 120 // rounds of a line between storms
	shortestStorm = 2   // rounds
	longestStorm  = 6
)

// weather begins and ends the storms of a line, in which most of its machines fail together: a
// power dip, a bad batch of material.
func (f *Fleet) weather(l *line) {
	if l.storm > 0 {
		l.storm--
		return
	}
	if f.chance(stormOneIn) {
		l.storm = f.between(shortestStorm, longestStorm)
	}
}
