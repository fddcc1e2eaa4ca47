package people

import (
	"fmt"
	"slices"

	"github.com/andonhq/andon"
)

// A device flaps that changes its state flapAfter times within flapWithin. One person is told of
// it once. Until it is stable, for as long, it keeps one incident, whose policy stands still.
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
	if began || in.Flapping && !in.toldOfFlapping() {
		in.flap(s, began)
	}
}

// flap has one person told that the device flaps, if there is one.
func (in *Incident) flap(s *Setting, began bool) {
	in.Flapping = true
	to := in.Operator
	if in.Policy != nil {
		if p := s.policy(in.Policy.Policy); p != nil && len(p.Steps) > 0 {
			to = s.person(p.Steps[0].To, in, s.Now)
		}
	}
	if in.paused() {
		to = ""
	}
	why := fmt.Sprintf("flapping: %d changes of state within %s", flapAfter, flapWithin)
	if began || to != "" {
		in.note(s, Step{What: "flapping", To: to, Note: why})
	}
	if to != "" {
		in.do(s, Notify, to, why)
	}
}

// toldOfFlapping reports whether somebody was told that the device flaps.
func (in *Incident) toldOfFlapping() bool {
	for _, step := range slices.Backward(in.Steps) {
		if step.What == "flapping" {
			return step.To != ""
		}
	}
	return true // the log was too long
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
	is := string(in.State)
	if in.Until != 0 {
		is = "normal"
	}
	in.note(s, Step{What: "stable", Note: is})
}
