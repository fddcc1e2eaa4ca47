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

// flip takes note of a change of state.
func (in *Incident) flip(s *Setting) {
	if in.Kind != StateKind {
		return
	}
	in.Flips = slices.DeleteFunc(append(slices.Clone(in.Flips), s.Now), func(at andon.Time) bool {
		return at.Add(flapWithin) <= s.Now
	})
	if extra := len(in.Flips) - flapAfter; extra > 0 {
		in.Flips = in.Flips[extra:]
	}
	if in.Flapping || len(in.Flips) < flapAfter {
		return
	}
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
	in.note(s, Step{What: "flapping", To: to, Note: why})
	if to != "" {
		in.do(s, Notify, to, why)
	}
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
