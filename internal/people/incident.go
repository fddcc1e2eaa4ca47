package people

import (
	"cmp"
	"slices"

	"github.com/andonhq/andon"
)

// Observation is what is true of a device, as far as a kind of incident is about it.
type Observation struct {
	Holds    bool // the condition of the incident
	Since    andon.Time
	Entry    andon.EntryRef // that brought it about, or ended it
	Severity uint8
	Operator andon.PersonID
	Message  string
	Why      string // of the end, where it is not a return to normal: "retired"
	Covers   int    // other devices that are silent with it
	// Former is the last incident of the kind on the device, where one opens. Appointed says that a
	// policy has assigned the operator in an earlier one, of any kind.
	Former    *Incident
	Appointed *Appointment
	// At is the place in the feed after which it is so, Arrived when that change arrived; 0:
	// unknown. Assigned says that Operator is who looks after the device by now, not only at At.
	At       andon.Position
	Arrived  andon.Time
	Assigned bool
}

// Open makes the incident of a device whose condition holds.
func Open(s *Setting, id string, device andon.DeviceID, kind Kind, o *Observation) *Incident {
	in := &Incident{
		ID: id, Device: device, Kind: kind, Opened: s.Now, Since: o.Since, Operator: o.Operator,
		Appointed: copied(o.Appointed), Count: 1, Seen: o.At,
	}
	if o.Arrived != 0 {
		in.Opened = o.Arrived
	}
	if o.Former != nil {
		in.Flips, in.Latch = o.Former.Flips, o.Former.Latch && !o.Former.Reset
	}
	in.note(s, Step{What: "opened", EventTime: o.Entry.Time, Note: string(o.Entry.State)})
	in.Suppress(s)
	in.take(s, o)
	in.appoint(s)
	return in
}

// Observe takes in what is true of its device now. It reports whether that changes anything.
func (in *Incident) Observe(s *Setting, o *Observation) (changed bool) {
	before := *in
	if o.Assigned {
		in.Operate(s, o.Operator)
	}
	switch {
	case o.Holds:
		in.take(s, o)
	case in.Until == 0:
		in.end(s, o)
	}
	in.settle(s, s.Now)
	changed = before.Operator != in.Operator || before.Since != in.Since ||
		before.Entry != in.Entry || before.Until != in.Until || before.Ended != in.Ended ||
		before.Severity != in.Severity || before.TakenBy != in.TakenBy ||
		before.Covers != in.Covers || before.Latch != in.Latch ||
		len(before.Steps) != len(in.Steps)
	if changed && o.At != (andon.Position{}) {
		in.Seen = o.At
	}
	return changed
}

// take takes in a condition that holds.
func (in *Incident) take(s *Setting, o *Observation) {
	rose := o.Severity > in.Worst || in.State == ""
	flipped := in.Until != 0 || o.Entry.State != in.State
	if in.Until != 0 { // it returned while it was paused or flapping, and is back
		in.Until, in.Unasked, in.From = 0, false, cmp.Or(in.From, in.Entry.Time)
		in.Latch, in.Reset = in.Latch && !in.Reset, false
		in.moved(s, "opened again", o)
	}
	if in.State != "" && o.Entry.State != in.State {
		in.moved(s, "changed", o)
	}
	in.Since, in.Entry, in.State, in.Severity = o.Since, o.Entry, o.Entry.State, o.Severity
	in.Worst, in.Covers = max(in.Worst, o.Severity), max(in.Covers, o.Covers)
	if o.Message != "" {
		in.Message = o.Message
	}
	if in.Kind == StateKind && s.States.Look(in.State).Reset {
		in.Latch, in.Reset = true, false
	}
	if rose {
		in.begin(s)
	}
	if flipped {
		in.flip(s, o.Entry.Time)
	}
	in.schedule(s, s.Now)
}

// moved notes that the state changed, unless it does so all the time.
func (in *Incident) moved(s *Setting, what string, o *Observation) {
	if !in.Flapping {
		in.note(s, Step{What: what, EventTime: o.Entry.Time, Note: string(o.Entry.State)})
	}
}

// end takes in that the condition holds no more.
func (in *Incident) end(s *Setting, o *Observation) {
	if in.Until = max(o.Entry.Time, in.Since); o.Entry.Time == 0 { // what began it may be withdrawn
		in.Until = s.Now
	}
	line := Step{What: "returned to normal", EventTime: o.Entry.Time, Note: o.Why}
	if in.Kind == SilentKind {
		line.What, in.Unasked = "heard again", true
	}
	if o.Why != "" {
		line.What, in.Unasked = "ended", true
		in.Shelf, in.Removed, in.Reset, in.Flapping = nil, nil, true, false
	}
	if in.Shelf != nil && in.Shelf.Once {
		in.Shelf, in.Unasked = nil, true
	}
	in.Unasked = in.Unasked || in.Paused()
	if !in.Flapping {
		in.note(s, line)
	}
	if o.Why == "" {
		in.flip(s, o.Entry.Time)
	}
}

// settle closes the incident where nothing is left to do about it, and schedules what is.
func (in *Incident) settle(s *Setting, at andon.Time) {
	in.latch(s)
	asked := in.Acknowledged == nil && !in.Unasked
	held := in.MayReopen() || in.Latch && !in.Reset
	if in.Until != 0 && in.Ended == 0 && !asked && !held {
		in.Close(s, "")
	}
	in.schedule(s, at)
}

// latch latches the incident where it has returned to normal and the log has a state that asks for
// a reset. A latch stays though that entry is withdrawn: a person decides.
func (in *Incident) latch(s *Setting) {
	if in.Until != 0 && in.Ended == 0 && !in.Latch && !in.Reset && s.Resets != nil {
		in.Latch, in.Unread = s.Resets(in)
	}
}

// Close closes the incident, for a reason or because nothing is left to do.
func (in *Incident) Close(s *Setting, why string) {
	in.latch(s)
	if in.Ended = s.Now; in.Until == 0 {
		in.Until = s.Now
	}
	in.MaintenanceEnds = 0
	in.note(s, Step{What: "closed", Note: why})
	in.schedule(s, s.Now)
}

// Suppress takes in the window of maintenance that its device is in, from its begin on, or that it
// is in none any more, from the end of the last one on: it may be noticed later, after a restart.
func (in *Incident) Suppress(s *Setting) {
	was, at := in.Maintenance, andon.Earlier(in.MaintenanceEnds, s.Now)
	in.Maintenance, in.MaintenanceEnds = "", 0
	if w := s.window(in.Device); w != nil {
		in.Maintenance, in.MaintenanceEnds = w.Name, w.Ends
		at = max(w.Begins, s.Reviewed)
	}
	switch in.Maintenance {
	case was:
		return
	case "":
		in.note(s, Step{What: "suppression ended"})
	default:
		in.note(s, Step{What: "suppressed", Note: in.Maintenance})
	}
	in.settle(s, at)
}

// Reopens reports whether an observation is of another run than the incident, which has returned to
// normal: then it is closed, and another one opens.
func (in *Incident) Reopens(o *Observation) bool {
	return o.Holds && in.Until != 0 && o.Since >= in.Until && !in.MayReopen()
}

// MayReopen reports whether it goes on when its device returns to normal and leaves that again.
func (in *Incident) MayReopen() bool {
	return in.Ended == 0 && (in.Shelf != nil || in.Removed != nil || in.Flapping)
}

// Status returns what the incident needs of people.
func (in *Incident) Status() Status {
	switch {
	case in.Ended != 0:
		return Closed
	case in.Removed != nil:
		return OutOfService
	case in.Shelf != nil:
		return Shelved
	case in.Maintenance != "":
		return Suppressed
	case in.Until != 0 && in.Latch && !in.Reset:
		return Latched
	case in.Until != 0 && in.Acknowledged == nil:
		return Returned
	case in.Acknowledged != nil:
		return Acknowledged
	}
	return Unacknowledged
}

// Clone returns a copy that shares nothing that is changed.
func (in *Incident) Clone() *Incident {
	c := *in
	c.Steps, c.Doing, c.Joined = slices.Clone(in.Steps), slices.Clone(in.Doing),
		slices.Clone(in.Joined)
	c.Acknowledged, c.Shelf, c.Removed = copied(in.Acknowledged), copied(in.Shelf),
		copied(in.Removed)
	c.Policy, c.Appointed, c.Flips = copied(in.Policy), copied(in.Appointed), slices.Clone(in.Flips)
	return &c
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// Done takes note that effects are done, by their keys. It reports whether any was not known to be.
func (in *Incident) Done(keys map[string]bool) bool {
	before := len(in.Doing)
	in.Doing = slices.DeleteFunc(in.Doing, func(e Effect) bool { return keys[e.Key] })
	return len(in.Doing) != before
}

// Failed notes in the log which effects are not done and not tried again, with the reasons by their
// keys. It comes before Done.
func (in *Incident) Failed(now andon.Time, why map[string]string) {
	for _, e := range in.Doing {
		if reason, failed := why[e.Key]; failed {
			in.Steps = append(in.Steps, Step{
				At: now, What: "failed", To: e.To, Note: e.Why + ": " + reason,
			})
		}
	}
}
