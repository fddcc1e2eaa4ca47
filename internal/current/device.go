// Package current holds the current states of one tenant's devices in memory: by device, by state,
// and counted. It is pure: no I/O, no clock, no locks. If the newest entries are not enough to know
// a state, it reads older history through a function.
package current

import (
	"iter"

	"github.com/andonhq/andon"
)

// Device is all that must be known of a device to fold its next entry, wherever in its past that
// falls, and to show the device. The zero value with an ID is one that was never seen.
//
// Two places in the past are kept, so that a late entry is judged without reading the log: the last
// entry before the present run, and the last entry of severity 0 before the present incident.
//
// The names in JSON are part of what a store may have kept.
type Device struct {
	ID    andon.DeviceID `json:"-"`
	Time  andon.Time     `json:"time,omitempty"`  // of the newest entry; 0 when never seen
	State andon.State    `json:"state,omitempty"` // of the newest entry

	Since andon.Time `json:"since,omitempty"` // first entry of the present run
	// last entry before the present run; 0 when there is none
	PrevTime andon.Time `json:"prev_time,omitempty"`
	// the same entry's state
	PrevState andon.State `json:"prev_state,omitempty"`

	// first entry of the present incident; 0 while none is open
	Incident andon.Time `json:"incident,omitempty"`
	// last entry of severity 0 before it; 0 when there is none
	LastNormal andon.Time `json:"last_normal,omitempty"`

	Operator andon.PersonID `json:"operator,omitempty"` // of the newest entry

	// Escalated is the newest record of an entry of the present incident: of those that are not
	// withdrawn, if there is one. All others were set aside (History), the newest of them at
	// AsideAt; 0 when there are none.
	Escalated Escalation `json:"escalation,omitzero"`
	AsideAt   andon.Time `json:"aside_at,omitempty"`

	// of the newest assignment; absent when that unassigned
	Assignee andon.PersonID `json:"assignee,omitempty"`
	// 0 where there never was an assignment
	AssignedFrom andon.Time `json:"assigned_from,omitempty"`

	// the newest retirement; entries up to it do not count
	Retired andon.Time `json:"retired,omitempty"`
	// arrival of the newest message
	Received andon.Time `json:"received,omitempty"`
}

// Entry is what folding needs of a log entry.
type Entry struct {
	Time     andon.Time
	Severity uint8
	State    andon.State
	Operator andon.PersonID
}

func (e Entry) key() andon.EventKey {
	return andon.EventKey{Time: e.Time, Severity: e.Severity, State: e.State}
}

// History is what folding may have to read of the past of the device.
type History interface {
	// Next returns the time of the first entry strictly after a key, among the entries that were
	// folded before. There always is one when Next is called.
	Next(after andon.EventKey) (andon.Time, error)

	// ForgetAside removes all that was set aside so far.
	ForgetAside()
	// SetAside keeps an escalation record for AsideOf and Aside.
	SetAside(r Escalation)
	// AsideOf returns the newest record of an entry that was set aside; At is 0 where none was.
	AsideOf(entry andon.Time, state andon.State) (Escalation, error)
	// Aside returns the newest record that was set aside of each entry from a time on, in no order.
	// Stores that read the records of the log return more: all of those entries, of any severity.
	Aside(from andon.Time) iter.Seq2[Escalation, error]
}

// Known reports whether anything is known of the device but its ID.
func (d *Device) Known() bool {
	return d.Time != 0 || d.AssignedFrom != 0 || d.Retired != 0 || d.Received != 0
}

// Alive reports whether the device was seen and is not retired.
func (d *Device) Alive() bool { return d.Time > d.Retired }

// Apply folds one entry into d. Entries may come in any order and any number of times. It reads
// past only when the entry falls inside the present run or incident and splits it: for what is
// next, at most once, and for escalations when it removes all that are in memory.
func (d *Device) Apply(e Entry, states *andon.StateSet, past History) error {
	key, newest := e.key(), d.newest(states)
	order := key.Compare(newest)
	switch {
	case e.Time <= d.Retired:
		if order > 0 { // remembered for the times of assignments and retirements only
			d.Time, d.State = e.Time, e.State
		}
	case !d.Alive():
		d.begin(e)
	case order > 0:
		d.advance(e)
	case order == 0:
		d.Operator = e.Operator
	default:
		return d.applyLate(e, states, past)
	}
	return nil
}

// begin is the first entry, or the first after a retirement.
func (d *Device) begin(e Entry) {
	d.Time, d.State, d.Since, d.Operator = e.Time, e.State, e.Time, e.Operator
	d.PrevTime, d.PrevState, d.LastNormal = 0, "", 0
	d.endIncident()
	if e.Severity > 0 {
		d.Incident = e.Time
	}
}

func (d *Device) endIncident() { d.Incident, d.Escalated, d.AsideAt = 0, Escalation{}, 0 }

// advance is a new newest entry.
func (d *Device) advance(e Entry) {
	if e.State != d.State {
		d.PrevTime, d.PrevState, d.Since = d.Time, d.State, e.Time
	}
	switch {
	case e.Severity == 0:
		d.endIncident()
		d.LastNormal = 0
	case d.Incident == 0:
		d.Incident, d.LastNormal = e.Time, d.Time
	}
	d.Time, d.State, d.Operator = e.Time, e.State, e.Operator
}

// applyLate is an entry before the newest. It matters only where it falls after the last entry
// before the present run, or after the last normal entry before the present incident.
func (d *Device) applyLate(e Entry, states *andon.StateSet, past History) (err error) {
	first := andon.EventKey{Time: d.Since, Severity: states.Severity(d.State), State: d.State}
	splitsRun := e.State != d.State && e.key().Compare(first) > 0
	splitsIncident := d.Incident != 0 && e.Severity == 0 && e.Time > d.Incident
	var after andon.Time
	if splitsRun || splitsIncident {
		if after, err = past.Next(e.key()); err != nil {
			return err
		}
	}
	if splitsRun {
		d.Since, d.PrevTime, d.PrevState = after, e.Time, e.State
	} else {
		d.beforeRun(e, first, states)
	}
	if splitsIncident {
		d.Incident, d.LastNormal = after, e.Time
		if d.Escalated.Entry < after {
			d.Escalated = Escalation{}
		}
		return d.refill(states, past)
	}
	d.beforeIncident(e)
	return nil
}

// beforeRun is a late entry that does not split the present run: it may be its new beginning, or
// the new last entry before it.
func (d *Device) beforeRun(e Entry, first andon.EventKey, states *andon.StateSet) {
	severity := states.Severity(d.PrevState)
	prev := andon.EventKey{Time: d.PrevTime, Severity: severity, State: d.PrevState}
	if e.key().Compare(first) >= 0 || (d.PrevTime != 0 && e.key().Compare(prev) <= 0) {
		return
	}
	if e.State == d.State {
		d.Since = e.Time
	} else {
		d.PrevTime, d.PrevState = e.Time, e.State
	}
}

// beforeIncident is a late entry that does not split the present incident: it may be its new
// beginning, or the new last normal entry before it. At one instant severity 0 comes first, so
// times alone decide.
func (d *Device) beforeIncident(e Entry) {
	switch {
	case d.Incident == 0:
	case e.Severity == 0:
		d.LastNormal = max(d.LastNormal, min(e.Time, d.Incident))
	case e.Time >= d.LastNormal:
		d.Incident = min(d.Incident, e.Time)
	}
}

func (d *Device) newest(states *andon.StateSet) andon.EventKey {
	if d.Time == 0 {
		return andon.EventKey{}
	}
	return andon.EventKey{Time: d.Time, Severity: states.Severity(d.State), State: d.State}
}

// Retire retires the device at the later of at and just after its newest entry.
func (d *Device) Retire(at andon.Time) andon.Time {
	d.Retired = max(at, d.Time+1)
	d.endIncident()
	return d.Retired
}

// Assign assigns an operator from the latest of now, just after the newest entry, and just after
// the newest assignment, and says since when. If it is the assigned one, nothing changes. Conflict
// as of andon.Assignments.
func (d *Device) Assign(a *andon.Assignment, now andon.Time) error {
	if a.Again = d.AssignedFrom != 0 && d.Assignee == a.Operator; !a.Again {
		if err := a.Overtaken(d.Assignee); err != nil {
			return err
		}
		d.Assignee, d.AssignedFrom = a.Operator, max(now, d.Time+1, d.AssignedFrom+1)
	}
	a.From, a.To = d.AssignedFrom, 0
	return nil
}

// Show returns the device as it is shown, without what stays with its newest entry.
func (d *Device) Show(states *andon.StateSet) andon.Device {
	operator := d.Operator
	if d.AssignedFrom != 0 {
		operator = d.Assignee
	}
	escalated := d.Escalated
	if escalated.To == "" {
		escalated = Escalation{} // it is withdrawn
	}
	return andon.Device{
		ID: d.ID, State: d.State, Severity: states.Severity(d.State),
		Time: d.Time, Since: d.Since, Received: d.Received, LastRetired: d.Retired,
		Operator: operator, EscalatedTo: escalated.To,
		EscalatedEntry: andon.EntryRef{Time: escalated.Entry, State: escalated.State},
		EscalatedAt:    escalated.At,
		IncidentSince:  d.Incident,
	}
}

// List returns the device as a list of a kind shows it, and whether it is in that list.
func (d *Device) List(
	kind andon.DeviceKind, states *andon.StateSet,
) (listed andon.Device, in bool) {
	listed.ID = d.ID
	switch kind {
	case andon.ShownDevices:
		return d.Show(states), d.Alive()
	case andon.RetiredDevices:
		listed.Retired, listed.LastRetired = d.Retired, d.Retired
		if d.Time != 0 {
			listed.State, listed.Severity = d.State, states.Severity(d.State)
			listed.Time, listed.Received = d.Time, d.Received
		}
		return listed, d.Retired != 0 && !d.Alive()
	case andon.AssignedDevices:
		listed.Operator = d.Assignee
		return listed, d.Time == 0 && d.Retired == 0 && d.AssignedFrom != 0
	case andon.AllDevices:
		return listed, true
	}
	return listed, false
}

// RestoreAssignment adds an assignment with the time that it had in another store.
func (d *Device) RestoreAssignment(operator andon.PersonID, from andon.Time) {
	if from >= d.AssignedFrom {
		d.Assignee, d.AssignedFrom = operator, from
	}
}

// RestoreRetirement adds a retirement with the time that it had in another store, unless the device
// has an entry after it.
func (d *Device) RestoreRetirement(at andon.Time) (counts bool) {
	if d.Time > at || d.Retired >= at {
		return false
	}
	d.Retire(at)
	d.Retired = at // not after the newest entry, which may be of that instant
	return true
}
