// Package people decides what is done about devices that are not normal, and who does it:
// incidents, escalation policies, schedules, maintenance, rules on readings. Its decisions are
// pure: state and time go in, what to do comes out. The packages below it read the feed, keep
// records and do what was decided.
//
// Terms are those of ISA-18.2.
package people

import "github.com/andonhq/andon"

// Kind is what an incident is about: StateKind, SilentKind, or a rule of kind absent.
type Kind string

// The kinds. An incident of an absent metric has the kind "absent:" and the name of its rule.
const (
	StateKind  Kind = "state"  // the device is in a state above severity 0
	SilentKind Kind = "silent" // nothing was heard of it for its tenant's silent_after
	AbsentKind Kind = "absent:"
)

// Status is what an incident needs of people, in the terms of ISA-18.2.
type Status string

// The statuses, in the order in which Incident.Status decides.
const (
	Closed         Status = "closed"
	OutOfService   Status = "out-of-service"
	Shelved        Status = "shelved"
	Suppressed     Status = "suppressed" // by design: its device is in maintenance
	Latched        Status = "latched"    // returned to normal; its state asks for a reset
	Returned       Status = "returned"   // to normal, unacknowledged
	Acknowledged   Status = "acknowledged"
	Unacknowledged Status = "unacknowledged"
)

// Incident is one incident of a device. As JSON it is the document of its record, and what the API
// answers, with the status in it, is made of it.
type Incident struct {
	ID     string         `json:"id"`
	Device andon.DeviceID `json:"device"`
	Kind   Kind           `json:"kind"`
	// Opened is when what opened it arrived, by the clock of the server: a part of the identity.
	// Since and Until are times of entries, and follow the log when late entries arrive. Until is 0
	// while the condition holds, Ended while the incident is open.
	Opened   andon.Time     `json:"opened"`
	Since    andon.Time     `json:"since"`
	Until    andon.Time     `json:"until,omitempty"`
	Ended    andon.Time     `json:"ended,omitempty"`
	State    andon.State    `json:"state,omitempty"` // the newest above severity 0
	Entry    andon.EntryRef `json:"entry"`           // of State; it is what is escalated
	Severity uint8          `json:"severity"`        // of State
	Worst    uint8          `json:"worst"`
	Count    int            `json:"count"` // entries from Since to Until, as far as counted
	Operator andon.PersonID `json:"operator,omitempty"`
	Message  string         `json:"message,omitempty"`
	// From is of the entry of the first run that it had, where it stayed open through several.
	From   andon.Time `json:"from,omitempty"`
	Before []Run      `json:"-"`                // those before the last, as the log has them
	Late   bool       `json:"late,omitempty"`   // found in the log later; nobody was notified
	Joined []string   `json:"joined,omitempty"` // that a late entry made part of this one
	// Covers are the devices of a gateway that fell silent with it, where this is its silence.
	Covers int `json:"covers,omitempty"`

	Acknowledged *Acknowledgement `json:"acknowledged,omitempty"`
	TakenBy      andon.PersonID   `json:"taken_by,omitempty"`
	Latch        bool             `json:"latch,omitempty"` // a state of it asks for a reset
	Reset        bool             `json:"reset,omitempty"` // which was done
	Shelf        *Shelf           `json:"shelved,omitempty"`
	Removed      *Removal         `json:"out_of_service,omitempty"`
	Maintenance  string           `json:"maintenance,omitempty"` // the window that suppresses it
	// MaintenanceEnds is when that window ends; 0: unknown, or there is none.
	MaintenanceEnds andon.Time `json:"maintenance_ends,omitempty"`

	Policy *Progress `json:"escalation,omitempty"` // nil: no policy matches
	// Appointed says that a policy chose the operator; nil: people did. The next incident of the
	// device has it too.
	Appointed *Appointment `json:"appointed,omitempty"`
	Steps     []Step       `json:"steps,omitempty"` // oldest first
	// Doing are effects that were decided and are not known to be done. They are done again after a
	// restart; each is idempotent by its Key.
	Doing []Effect `json:"doing,omitempty"`
	// Effects counts those that ever were, for their keys.
	Effects int `json:"effects,omitempty"`
	// Unasked says that nobody need acknowledge it: it returned to normal while it was paused, or
	// its device is gone.
	Unasked bool `json:"unasked,omitempty"`
	// Flapping says that the device changes its state too often. Flips are when it did last, by the
	// times of entries, with those of former incidents; ascending.
	Flapping bool         `json:"flapping,omitempty"`
	Flips    []andon.Time `json:"flips,omitempty"`
	// Seen is the place in the feed of changes up to which it is taken in. Changes are read again
	// after a restart; those up to here are known.
	Seen andon.Position `json:"seen,omitzero"`
	// Unread is why it could not be read whether a state asks for a reset: then it is not stored.
	Unread error `json:"-"`
}

// Acknowledgement says who has seen an incident. After Expires, unless that is 0, it no longer
// counts, and the policy goes on where it stopped.
type Acknowledgement struct {
	By      andon.PersonID `json:"by"`
	At      andon.Time     `json:"at"`
	Expires andon.Time     `json:"expires,omitempty"`
	Note    string         `json:"note,omitempty"`
}

// Shelf hides an incident until a time, or, where Once is set, until the device returns to normal.
type Shelf struct {
	By     andon.PersonID `json:"by"`
	At     andon.Time     `json:"at"`
	Until  andon.Time     `json:"until,omitempty"`
	For    andon.Duration `json:"for,omitempty"` // so long from At on; 0: Until was named
	Once   bool           `json:"once,omitempty"`
	Reason string         `json:"reason"`
}

// Removal takes the device of an incident out of service, for this kind of incident.
type Removal struct {
	By     andon.PersonID `json:"by"`
	At     andon.Time     `json:"at"`
	Reason string         `json:"reason,omitempty"`
}

// Step is one line of the log of an incident.
type Step struct {
	At        andon.Time     `json:"at"`                   // by the server's clock
	EventTime andon.Time     `json:"event_time,omitempty"` // of the entry that brought it about
	What      string         `json:"what"`                 // "opened", "taken", "notified", …
	By        andon.PersonID `json:"by,omitempty"`         // absent: Andon itself
	To        andon.PersonID `json:"to,omitempty"`
	Note      string         `json:"note,omitempty"`
}

// Progress is how far the policy of an incident is.
type Progress struct {
	Policy string `json:"policy"`
	// Start is when its time began, on the server's clock. Pauses move it: what is left of a wait
	// is left afterwards.
	Start  andon.Time `json:"start"`
	Step   int        `json:"step"`              // the next one, counted through all rounds
	Next   andon.Time `json:"next_at,omitempty"` // 0: none is left, or it is halted
	Paused andon.Time `json:"paused,omitempty"`  // since when; 0: it is not
	// Sum is that of the policy as it is followed; 0: it was deleted, or is for others now.
	Sum uint32 `json:"sum,omitempty"`
}

// Appointment is whom a policy has made the operator of a device, until somebody else is on call.
type Appointment struct {
	Policy string         `json:"policy"`
	To     andon.PersonID `json:"to,omitempty"`    // absent: nobody was on call yet
	Until  andon.Time     `json:"until,omitempty"` // 0: it does not end
}

// EffectKind is what an effect does.
type EffectKind string

// The kinds of effect.
const (
	Notify   EffectKind = "notify"   // tells a person
	Escalate EffectKind = "escalate" // records an escalation of the entry, and tells the person
	Assign   EffectKind = "assign"   // makes a person the operator of the device
)

// Effect is what is to be done because of a step.
type Effect struct {
	Key  string         `json:"key"` // of an incident and step: the same whenever it is tried again
	Do   EffectKind     `json:"do"`
	To   andon.PersonID `json:"to"`
	Why  string         `json:"why,omitempty"` // the step, as a person reads it; a note of By
	By   andon.PersonID `json:"by,omitempty"`  // who did it; absent: a policy
	Time andon.Time     `json:"time"`          // when it was due
	// Over is, of an assignment by a policy, whose place To takes: nobody else's.
	Over *andon.PersonID `json:"over,omitempty"`
}

// Untold returns who is still to be told of an incident, and what. Nobody is assigned or escalated
// to because of it: the next incident has a policy of its own.
func (in *Incident) Untold() (all []Effect) {
	for _, e := range in.Doing {
		if e.Do != Assign {
			e.Do = Notify
			all = append(all, e)
		}
	}
	return all
}

// Text says why somebody is told.
func (e *Effect) Text() string {
	switch {
	case e.By == "":
		return e.Why
	case e.Why == "":
		return "escalated by " + string(e.By)
	}
	return "escalated by " + string(e.By) + ": " + e.Why
}
