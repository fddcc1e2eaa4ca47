package people

import (
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/wallclock"
)

// due returns when the next step of the policy comes, at from at the earliest; 0: none is left.
func (g *Progress) due(p *Policy, from andon.Time) andon.Time {
	if p == nil || len(p.Steps) == 0 {
		return 0
	}
	n := len(p.Steps)
	round := g.Step / n
	if round > p.Repeat {
		return 0
	}
	length := p.Steps[n-1].After - p.Steps[0].After + p.Every
	return max(from, g.Start.Add(andon.Duration(round)*length+p.Steps[g.Step%n].After))
}

// begin starts the policy that matches, unless that one is running.
func (in *Incident) begin(s *Setting) {
	p := s.policyOf(in)
	if p == nil || in.Policy != nil && in.Policy.Policy == p.Name {
		return
	}
	if in.Acknowledged != nil {
		in.Acknowledged = nil
		in.note(s, Step{What: "acknowledgement ended", Note: "the severity rose"})
	}
	in.start(s, p)
}

// start follows a policy from its beginning.
func (in *Incident) start(s *Setting, p *Policy) {
	in.Policy = &Progress{Policy: p.Name, Start: s.Now, Sum: p.sum()}
	in.note(s, Step{What: "policy started", Note: p.Name})
	switch a := in.Appointed; {
	case p.Assign == "":
	case in.Operator == "":
		in.Appointed = &Appointment{Policy: p.Name}
		if in.appoint(s); in.Operator == "" {
			in.note(s, Step{What: "nobody assigned", Note: string(p.Assign)})
		}
	case a != nil && s.named(a.Policy) == nil:
		a.Policy = p.Name
	}
}

// appoint makes whoever is on call now the operator, where a policy has assigned who was before, or
// could assign nobody.
func (in *Incident) appoint(s *Setting) {
	a := in.Appointed
	if a == nil {
		return
	}
	p := s.named(a.Policy)
	to, until := in.onCall(s, p)
	if a.Until = until; to == "" || to == in.Operator { // in a gap the former one keeps it
		return
	}
	what, why := "handed over", "the shift of policy "+p.Name+" changed"
	if a.To == "" {
		what, why = "assigned", "assigned by policy "+p.Name
	}
	over := in.Operator
	in.Operator, a.To = to, to
	in.note(s, Step{What: what, To: to, Note: string(p.Assign)})
	in.do(s, Assign, to, why)
	in.Doing[len(in.Doing)-1].Over = &over
}

// onCall returns whom a policy assigns now, and until when; 0: for ever. A turn stays with whoever
// has it.
func (in *Incident) onCall(s *Setting, p *Policy) (to andon.PersonID, until andon.Time) {
	if p == nil {
		return "", 0
	}
	if p.Assign.isTurn() && in.Appointed.To != "" {
		return in.Appointed.To, 0
	}
	_, until = s.shift(p.Assign, s.Now)
	return s.person(p.Assign, in, s.Now), until
}

// Operate takes in who is the operator of the device now, unless an assignment that the incident
// has decided on may not be done yet. Who is on call was assigned by a policy, through this
// incident or another one of the device. It reports whether that changes anything.
func (in *Incident) Operate(s *Setting, is andon.PersonID) (changed bool) {
	pending := func(e Effect) bool {
		return e.Do == Assign && (e.Over == nil || is == *e.Over || is == e.To)
	}
	if is == in.Operator || slices.ContainsFunc(in.Doing, pending) {
		return false
	}
	if in.TakenBy != "" {
		in.note(s, Step{What: "no longer taken", To: is})
	}
	in.Operator, in.TakenBy = is, ""
	if a := in.Appointed; a != nil && is != a.To {
		next := (*Appointment)(nil)
		if p := s.named(a.Policy); p != nil && !p.Assign.isTurn() {
			if to, until := in.onCall(s, p); is != "" && is == to {
				next = &Appointment{Policy: a.Policy, To: to, Until: until}
			}
		}
		in.Appointed = next
	}
	in.schedule(s, s.Now)
	return true
}

// keepUp takes in that the policy that is followed was changed or deleted. Where it is not for the
// incident any more, the one that is begins.
func (in *Incident) keepUp(s *Setting) {
	g := in.Policy
	if g == nil {
		return
	}
	p, now := s.named(g.Policy), s.policyOf(in)
	what, sum := "policy deleted", uint32(0)
	if p != nil {
		what, sum = "policy changed", p.sum()
		was := s.subject(in)
		was.Severity, was.At = in.Worst, g.Start
		if sum != g.Sum && p != now && !p.Match.Fits(&was) {
			sum = 0
		}
	}
	if sum != g.Sum {
		g.Sum = sum
		in.note(s, Step{What: what, Note: g.Policy})
	}
	if sum == 0 && now != nil {
		in.start(s, now)
	}
}

// Review takes in documents that have changed: windows of maintenance, who is on call, and when the
// next step of the policy is due. It reports whether that changes anything.
func (in *Incident) Review(s *Setting) bool {
	if in.Ended != 0 {
		return false
	}
	before, steps, ends := copied(in.Policy), len(in.Steps), in.MaintenanceEnds
	moved, shift := in.setBack(s), in.shift()
	if in.Until == 0 {
		in.keepUp(s)
		in.appoint(s)
	}
	if ends == 0 || ends > s.Now { // else it is due, and Advance does what is due in its order
		in.Suppress(s)
	}
	in.schedule(s, s.Now)
	return moved || len(in.Steps) > steps || in.MaintenanceEnds != ends || in.shift() != shift ||
		before != nil && *before != *in.Policy
}

// setBack moves what waits since a time that has not come, because the clock was ahead and is set
// back: by as much, or to now where that is not known. An end that somebody named stays. It reports
// whether anything may be due earlier.
func (in *Incident) setBack(s *Setting) bool {
	moved := len(in.Doing) > 0 && (s.SetBack > 0 || in.Doing[0].Time > s.Now)
	back := func(since andon.Time, all ...*andon.Time) {
		by := max(s.SetBack, since.Sub(s.Now))
		if since <= s.Now || by < wallclock.Least {
			return
		}
		moved = true
		for _, at := range all {
			if *at != 0 {
				*at = at.Add(-by)
			}
		}
	}
	switch g := in.Policy; {
	case g == nil:
	case g.Start > s.Now:
		back(max(g.Start, g.Paused), &g.Start, &g.Paused)
	default:
		back(g.Paused, &g.Paused)
	}
	if a := in.Acknowledged; a != nil && a.Expires != 0 {
		back(a.At, &a.At, &a.Expires)
	}
	if h := in.Shelf; h != nil && h.For != 0 {
		back(h.At, &h.At, &h.Until)
	}
	for i := range in.Flips {
		if in.Flips[i] > s.Now {
			moved, in.Flips[i] = true, s.Now
		}
	}
	return moved
}

// halted reports whether the policy does nothing: it is paused or stopped.
func (in *Incident) halted(p *Policy) bool {
	if in.Paused() || in.Flapping || in.Until != 0 || in.Ended != 0 || in.TakenBy != "" {
		return true
	}
	return in.Acknowledged != nil && (p == nil || p.Stop != "taken")
}

// Paused reports whether it is shelved, suppressed or out of service: nobody is told for now.
func (in *Incident) Paused() bool {
	return in.Shelf != nil || in.Removed != nil || in.Maintenance != ""
}

// schedule works out when the next step of the policy is due, at a time at which something changed.
// A policy that has changed moves it to that time at the earliest. While it is halted its time does
// not pass.
func (in *Incident) schedule(s *Setting, at andon.Time) {
	g := in.Policy
	if g == nil {
		return
	}
	at = max(at, g.Start, g.Paused) // what happened before is noticed only now
	p := s.policy(g)
	switch halted := in.halted(p); {
	case halted && g.Paused == 0:
		g.Paused = at
	case !halted && g.Paused != 0:
		g.Start, g.Paused = g.Start.Add(at.Sub(g.Paused)), 0
	}
	from := andon.Earlier(g.Next, at)
	if g.Next = 0; g.Paused == 0 {
		g.Next = g.due(p, from)
	}
}

// step does the step of the policy that is due, unless a policy that has changed says later.
func (in *Incident) step(s *Setting) {
	g, due := in.Policy, in.Policy.Next
	p := s.policy(g)
	if g.Next = g.due(p, due); g.Next != due {
		return
	}
	target := p.Steps[g.Step%len(p.Steps)].To
	why := fmt.Sprintf("step %d of policy %s: %s", g.Step+1, p.Name, target)
	to := s.person(target, in, due)
	g.Step++
	switch {
	case to == "":
		in.note(s, Step{What: "nobody told", Note: why})
	case strings.HasPrefix(string(target), "supervisor ") && in.Kind == StateKind:
		in.note(s, Step{What: "escalated", To: to, Note: why})
		in.do(s, Escalate, to, why)
	default:
		in.note(s, Step{What: "notified", To: to, Note: why})
		in.do(s, Notify, to, why)
	}
	if n := len(in.Doing); n > 0 && to != "" {
		in.Doing[n-1].Time = due
	}
	g.Next = g.due(p, due)
}

// shift returns when somebody else may be on call; 0: never.
func (in *Incident) shift() andon.Time {
	if in.Appointed == nil || in.Until != 0 {
		return 0
	}
	return in.Appointed.Until
}

// Due returns when there is something to do about the incident; 0: when something happens.
func (in *Incident) Due() (at andon.Time) {
	if at = in.shift(); in.Policy != nil {
		at = andon.Earlier(at, in.Policy.Next)
	}
	if in.Acknowledged != nil {
		at = andon.Earlier(at, in.Acknowledged.Expires)
	}
	if in.Shelf != nil {
		at = andon.Earlier(at, in.Shelf.Until)
	}
	return andon.Earlier(andon.Earlier(at, in.MaintenanceEnds), in.stable())
}

// Advance does what is due, each at the time at which it was due. It reports whether anything was.
func (in *Incident) Advance(s *Setting) (changed bool) {
	for {
		at := in.Due()
		if at == 0 || at > s.Now || in.Ended != 0 {
			return changed
		}
		changed = true
		switch {
		case in.Acknowledged != nil && in.Acknowledged.Expires == at:
			in.note(s, Step{What: "acknowledgement expired", To: in.Acknowledged.By})
			in.Acknowledged = nil
		case in.Shelf != nil && in.Shelf.Until == at:
			in.Shelf = nil
			in.note(s, Step{What: "unshelved", Note: "its time has come"})
		case in.stable() == at:
			in.settled(s)
		case in.shift() == at:
			in.appoint(s)
			continue
		case in.MaintenanceEnds == at || s.window(in.Device).name() != in.Maintenance:
			in.Suppress(s)
			continue
		default:
			in.step(s)
			continue
		}
		in.settle(s, at)
	}
}

// note adds a line to the log of the incident.
func (in *Incident) note(s *Setting, line Step) {
	line.At = s.Now
	in.Steps = append(in.Steps, line)
}

// do adds an effect, which belongs to the line that was noted last.
func (in *Incident) do(s *Setting, what EffectKind, to andon.PersonID, why string) {
	in.Effects++
	in.Doing = append(in.Doing, Effect{
		Key: fmt.Sprintf("%s/%d", in.ID, in.Effects), Do: what, To: to, Why: why, Time: s.Now,
	})
}
