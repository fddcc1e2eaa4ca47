package current

import (
	"slices"

	"github.com/andonhq/andon"
)

// Escalation is the newest escalation record of one entry; of two at one time, the one
// whose To comes first.
type Escalation struct {
	Entry andon.Time     // with State: the entry
	State andon.State    //
	At    andon.Time     // when it was escalated or withdrawn
	To    andon.PersonID // absent: withdrawn
}

// Escalate takes in an escalation record of an entry that was folded. It matters only where the
// entry is of the present incident and has no newer record. Entries never join an incident later
// than they are folded, so nothing that is left out here is missed then.
func (d *Device) Escalate(r Escalation, states *andon.StateSet) {
	if d.Incident == 0 || r.Entry < d.Incident || states.Severity(r.State) == 0 {
		return
	}
	i := slices.IndexFunc(d.Escalations, func(there Escalation) bool {
		return there.Entry == r.Entry && there.State == r.State
	})
	switch {
	case i < 0:
		d.Escalations = append(slices.Clip(d.Escalations), r)
	case r.At > d.Escalations[i].At || (r.At == d.Escalations[i].At && r.To <= d.Escalations[i].To):
		d.Escalations = slices.Clone(d.Escalations)
		d.Escalations[i] = r
	}
}

// forgetEscalations leaves out the entries before a time, because the incident now begins there.
func (d *Device) forgetEscalations(before andon.Time) {
	gone := func(r Escalation) bool { return r.Entry < before }
	if slices.ContainsFunc(d.Escalations, gone) {
		d.Escalations = slices.DeleteFunc(slices.Clone(d.Escalations), gone)
	}
}

// Escalated returns the newest record of an entry of the present incident; the zero value where
// there is none.
func (d *Device) Escalated(entry andon.Time, state andon.State) Escalation {
	for _, r := range d.Escalations {
		if r.Entry == entry && r.State == state {
			return r
		}
	}
	return Escalation{}
}

// escalated returns the newest record that stands: by when it was made, then by its entry.
func (d *Device) escalated(states *andon.StateSet) Escalation {
	var newest Escalation
	for _, r := range d.Escalations {
		if r.To != "" && (newest.To == "" || r.newer(newest, states)) {
			newest = r
		}
	}
	return newest
}

func (r Escalation) newer(than Escalation, states *andon.StateSet) bool {
	if r.At != than.At {
		return r.At > than.At
	}
	key := func(r Escalation) andon.EventKey {
		return andon.EventKey{Time: r.Entry, Severity: states.Severity(r.State), State: r.State}
	}
	return key(r).Compare(key(than)) > 0
}
