package people

import (
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// A device flaps that changes its state flapAfter times within flapWithin. One person is told of
// it once. Until it is stable, for as long, it keeps one incident, whose policy stands still. Where
// it is not normal then, the same person is told.
const (
	flapAfter  = 8
	flapWithin = 10 * minute
)

// flip takes note of a change of state at the time of its entry. One that arrives when the device
// has been stable since counts nothing: so a backlog does not flap.
func (in *Incident) flip(s *Setting, at andon.Time) {
	recent := func(at andon.Time) bool { return at.Add(flapWithin) > s.Now }
	if at = min(at, s.Now); in.Kind != StateKind || !recent(at) {
		return
	}
	flips := slices.DeleteFunc(append(slices.Clone(in.Flips), at), func(at andon.Time) bool {
		return !recent(at)
	})
	slices.Sort(flips)
	in.Flips = flips[max(0, len(flips)-flapAfter):]
	began := !in.Flapping && len(in.Flips) == flapAfter
	if to, known := in.toldOfFlapping(); began || in.Flapping && known && to == "" {
		in.flap(s, began)
	}
}

// flap has one person told that the device flaps, if there is one.
func (in *Incident) flap(s *Setting, began bool) {
	in.Flapping = true
	to := in.Operator
	if p := s.policy(in.Policy); p != nil && len(p.Steps) > 0 {
		if to = in.turn(p.Steps[0].To); to == "" {
			to = s.person(p.Steps[0].To, in, s.Now)
		}
	}
	if in.Paused() {
		to = ""
	}
	why := fmt.Sprintf("flapping: %d changes of state within %s", flapAfter, flapWithin)
	if began || to != "" {
		in.tell(s, Step{What: "flapping", To: to, Note: why}, why)
	}
}

// turn returns whose turn the incident was last, where a target is one; absent: nobody's yet.
func (in *Incident) turn(to Target) andon.PersonID {
	for _, step := range slices.Backward(in.Steps) {
		if step.What == "notified" && strings.HasPrefix(string(to), "turn ") &&
			strings.HasSuffix(step.Note, ": "+string(to)) {
			return step.To
		}
	}
	return ""
}

// tell notes that a person is told, if there is one, and has it done.
func (in *Incident) tell(s *Setting, line Step, why string) {
	in.note(s, line)
	if line.To != "" {
		in.do(s, Notify, line.To, why)
	}
}

// toldOfFlapping returns who was told last that the device flaps, if anybody was.
func (in *Incident) toldOfFlapping() (to andon.PersonID, known bool) {
	for _, step := range slices.Backward(in.Steps) {
		if step.What == "flapping" {
			return step.To, true
		}
	}
	return "", false // the log was too long
}

// stable returns when the device counts as stable again; 0: it does not flap.
func (in *Incident) stable() andon.Time {
	if !in.Flapping {
		return 0
	}
	return in.Flips[len(in.Flips)-1].Add(flapWithin)
}

// settled takes in that the device is stable.
func (in *Incident) settled(s *Setting) {
	in.Flapping, in.Flips = false, nil
	line := Step{What: "stable", Note: string(in.State)}
	if in.Until != 0 {
		line.Note = "normal"
	}
	if !in.halted(s.policy(in.Policy)) {
		line.To, _ = in.toldOfFlapping()
	}
	in.tell(s, line, fmt.Sprintf("stable: no change of state within %s", flapWithin))
}
