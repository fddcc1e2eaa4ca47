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

// keptEscalations is how many records a device keeps in memory. Each change of one writes all of
// them into the store's record, so they are few; withdrawals seldom go back further.
const keptEscalations = 4

// Escalate adds an escalation record of an entry that was folded. It matters only where the
// entry is of the present incident and has no newer record. Entries never join an incident later
// than they are folded, so nothing that is left out here is missed then.
//
// Whatever number of entries was escalated before, it costs the same: a record that is newer than
// all that were set aside is of an entry that has none there that counts.
func (d *Device) Escalate(r Escalation, states *andon.StateSet, past History) error {
	if d.Incident == 0 || r.Entry < d.Incident || states.Severity(r.State) == 0 {
		return nil
	}
	i := d.escalationOf(r.Entry, r.State)
	switch {
	case i >= 0 && !r.replaces(d.Escalations[i]):
		return nil
	case i >= 0:
		d.Escalations = slices.Clone(d.Escalations)
		d.Escalations[i] = r
	default:
		if d.AsideAt != 0 && r.At <= d.AsideAt {
			there, err := past.AsideOf(r.Entry, r.State)
			if err != nil || (there.At != 0 && !r.replaces(there)) {
				return err
			}
		}
		d.Escalations = append(slices.Clip(d.Escalations), r)
	}
	d.sortEscalations(states)
	d.setAside(r, i < 0, past)
	return d.refill(states, past)
}

func (d *Device) escalationOf(entry andon.Time, state andon.State) int {
	return slices.IndexFunc(d.Escalations, func(there Escalation) bool {
		return there.Entry == entry && there.State == state
	})
}

// replaces reports whether r counts in place of another record of its entry.
func (r Escalation) replaces(there Escalation) bool {
	return r.At > there.At || (r.At == there.At && r.To <= there.To)
}

// sortEscalations puts the newest first.
func (d *Device) sortEscalations(states *andon.StateSet) {
	slices.SortFunc(d.Escalations, func(a, b Escalation) int {
		if a.newer(b, states) {
			return -1
		}
		return 1
	})
}

// setAside moves the oldest records out of memory. What is set aside must be older than all that is
// in memory, or it could be missed; so an added record that is older than those is set aside, too.
func (d *Device) setAside(r Escalation, added bool, past History) {
	kept := min(len(d.Escalations), keptEscalations)
	if last := kept - 1; added && d.AsideAt != 0 && last > 0 && d.Escalations[last] == r {
		kept = last
	}
	for _, r := range d.Escalations[kept:] {
		past.SetAside(r)
		d.AsideAt = max(d.AsideAt, r.At)
	}
	d.Escalations = slices.Clip(d.Escalations[:kept])
}

// refill brings back the newest records that were set aside, once all in memory are withdrawn.
func (d *Device) refill(states *andon.StateSet, past History) error {
	counts := func(r Escalation) bool { return r.To != "" }
	if d.AsideAt == 0 || slices.ContainsFunc(d.Escalations, counts) {
		return nil
	}
	for _, r := range d.Escalations { // they hide older records of their entries
		past.SetAside(r)
		d.AsideAt = max(d.AsideAt, r.At)
	}
	d.Escalations = nil
	for r, err := range past.Aside(d.Incident) {
		if err != nil {
			return err
		}
		if !counts(r) {
			continue
		}
		d.Escalations = append(d.Escalations, r)
		d.sortEscalations(states)
		d.Escalations = d.Escalations[:min(len(d.Escalations), keptEscalations)]
	}
	d.Escalations = slices.Clip(d.Escalations)
	return nil
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
func (d *Device) Escalated(
	entry andon.Time, state andon.State, past History,
) (Escalation, error) {
	if i := d.escalationOf(entry, state); i >= 0 {
		return d.Escalations[i], nil
	}
	if d.AsideAt == 0 || d.Incident == 0 || entry < d.Incident {
		return Escalation{}, nil
	}
	return past.AsideOf(entry, state)
}

// escalated returns the newest record that is not withdrawn: by when it was made, then by its
// entry.
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
