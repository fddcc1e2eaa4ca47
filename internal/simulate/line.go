package simulate

import (
	"fmt"

	"github.com/andonhq/andon"
)

// line is one production line: its machines are of one kind, and its people work in shifts.
type line struct {
	name        string
	kind        string // of its machines
	operators   roster
	supervisors roster
	storm       int    // rounds that the present storm still lasts
	cause       *gauge // of the storm
}

// roster is the person who works, by shift: night, day, evening.
type roster [3]andon.PersonID

// newLines returns the lines. An operator looks after two of them, a supervisor after four.
func newLines() []line {
	kinds := [...]string{"press", "weld", "paint", "pack", "mill", "mould", "robot", "oven"}
	operators := [...]roster{
		{"Nia", "Liz", "Tom"}, {"Kim", "Sue", "Raj"}, {"Ole", "Ida", "Ana"}, {"Pia", "Jon", "Ben"},
	}
	supervisors := [...]roster{{"Omar", "Sara", "Zoe"}, {"Omar", "Igor", "Max"}}
	lines := make([]line, len(kinds))
	for i := range lines {
		lines[i] = line{
			name: "L" + string(rune('1'+i)), kind: kinds[i],
			operators: operators[i/2], supervisors: supervisors[i/4],
		}
	}
	return lines
}

// GroupRules put the machines of each line into a group, by the attribute that they report. A hall
// has four lines.
func GroupRules() (rules []andon.GroupRule) {
	for i, l := range newLines() {
		path := fmt.Sprintf("plant-1/hall-%d/line-%s", i/4+1, l.name)
		rules = append(rules, andon.GroupRule{
			Attribute: "line", Equals: l.name, Group: andon.Group(path),
		})
	}
	return rules
}

const (
	roundsOfDay  = 288
	roundsOfHour = roundsOfDay / 24
)

// shift returns which of three shifts works in the round that begins next. With rounds of 5 minutes
// they change at 06:00, 14:00 and 22:00 UTC.
func (f *Fleet) shift() int {
	hour := int(f.next/andon.Time(f.every)%roundsOfDay) / roundsOfHour
	return (hour + 2) % 24 / 8
}

const (
	stormOneIn    = 100 // rounds of a line between storms
	shortestStorm = 2   // rounds
	longestStorm  = 6
)

// storms begins and ends the storms of a line, in which most of its machines fail together and for
// the same reason: a power dip, a bad batch of material.
func (f *Fleet) storms(l *line) {
	if l.storm > 0 {
		l.storm--
		return
	}
	if f.sky.chance(stormOneIn) {
		l.storm, l.cause = f.sky.between(shortestStorm, longestStorm), f.sky.anyCause()
	}
}
