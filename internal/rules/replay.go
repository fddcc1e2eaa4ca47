package rules

import "github.com/andonhq/andon"

// Tried is what a rule would have said.
type Tried struct {
	Said     []Would
	Devices  int // with readings, that the rule fits
	Readings int // of these
	Failures int
	Err      error // of the last failure
	More     bool  // there is more than was asked for
}

// Would is what a rule would have said of a device. Of an absence, State is that of its incident.
type Would struct {
	Device  andon.DeviceID
	At      andon.Time
	Raised  bool
	State   andon.State
	Message string
}

// Replay evaluates a rule on the readings of one device from a time on, as if no other rule were
// there.
type Replay struct {
	Device   andon.DeviceID
	Program  *Program
	From     andon.Time
	standing Standing
	turns    []Turn
}

// Readings evaluates readings, oldest first. It returns those that what follows is measured
// against, which come before the next ones.
func (r *Replay) Readings(page []andon.Reading, t *Tried) (rest []andon.Reading) {
	if len(page) == 0 {
		return nil
	}
	run := r.Program.Run(r.standing, page, r.From)
	r.standing, r.turns = run.Standing, append(r.turns, run.Turns...)
	if t.Failures += run.Failed; run.Err != nil {
		t.Err = run.Err
	}
	last := page[len(page)-1].Time
	for i := range page {
		if page[i].Time >= r.From {
			t.Readings++
		}
		if over := r.Program.When.Over; over > 0 && last.Sub(page[i].Time) <= over {
			rest = append(rest, page[i])
		}
	}
	r.From = last + 1
	return rest
}

// End adds what the rule would have said of the device until a time.
func (r *Replay) End(to andon.Time, states *andon.StateSet, t *Tried) {
	t.Devices++
	if r.Program.When.Absent > 0 {
		run := Run{Standing: r.standing, Turns: r.turns}
		run.Gap(r.Program, to)
		for _, turn := range run.Turns {
			is := Would{r.Device, turn.At, turn.Raised, r.Program.State, turn.Message}
			t.Said = append(t.Said, is)
		}
		return
	}
	d := Device{}
	d.Take([]*Program{r.Program}, r.turns, states)
	for _, s := range d.Say {
		t.Said = append(t.Said, Would{r.Device, s.Time, s.After == "", s.State, s.Message})
	}
}
