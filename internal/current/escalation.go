package current

import "github.com/andonhq/andon"

// Escalation is the newest escalation record of one entry; of two at one time, the one
// whose To comes first.
type Escalation struct {
	Entry andon.Time     // with State: the entry
	State andon.State    //
	At    andon.Time     // when it was escalated or withdrawn; 0: there is no record
	To    andon.PersonID // absent: withdrawn
}

// Escalate adds an escalation record of an entry that was folded. It matters only where the
// entry is of the present incident and has no newer record. Entries never join an incident later
// than they are folded, so nothing that is left out here is missed then.
//
// Whatever number of entries was escalated before, it costs the same: a record that is newer than
// all that were set aside is of an entry that has none there that counts.
func (d *Device) Escalate(r Escalation, states *andon.StateSet, past History) error {
	if !d.inIncident(r, states) {
		return nil
	}
	if d.Escalated.isOf(r.Entry, r.State) {
		if r.replaces(d.Escalated) {
			d.Escalated = r
		}
		return d.refill(states, past)
	}
	if d.AsideAt != 0 && r.At <= d.AsideAt {
		there, err := past.AsideOf(r.Entry, r.State)
		if err != nil || (there.At != 0 && !r.replaces(there)) {
			return err
		}
	}
	if d.Escalated.To != "" && (r.To == "" || d.Escalated.newer(r, states)) {
		d.setAside(r, past)
		return nil
	}
	d.setAside(d.Escalated, past)
	d.Escalated = r
	return d.refill(states, past)
}

func (r Escalation) isOf(entry andon.Time, state andon.State) bool {
	return r.At != 0 && r.Entry == entry && r.State == state
}

// replaces reports whether r counts in place of another record of its entry.
func (r Escalation) replaces(there Escalation) bool {
	return r.At > there.At || (r.At == there.At && r.To <= there.To)
}

// setAside leaves a record, if it is one, to history.
func (d *Device) setAside(r Escalation, past History) {
	if r.At != 0 {
		past.SetAside(r)
		d.AsideAt = max(d.AsideAt, r.At)
	}
}

// refill brings back the newest record that was set aside and counts, once the device is escalated
// to nobody.
func (d *Device) refill(states *andon.StateSet, past History) error {
	if d.AsideAt == 0 || d.Escalated.To != "" {
		return nil
	}
	d.setAside(d.Escalated, past) // it hides older records of its entry
	d.Escalated = Escalation{}
	for r, err := range past.Aside(d.Incident) {
		if err != nil {
			return err
		}
		if r.To == "" || !d.inIncident(r, states) {
			continue
		}
		if d.Escalated.To == "" || r.newer(d.Escalated, states) {
			d.Escalated = r
		}
	}
	return nil
}

// inIncident reports whether a record is of an entry of the present incident. An entry of severity
// 0 may be of the instant of its beginning, but never belongs to it.
func (d *Device) inIncident(r Escalation, states *andon.StateSet) bool {
	return d.Incident != 0 && r.Entry >= d.Incident && states.Severity(r.State) > 0
}

// EscalationOf returns the newest record of an entry of the present incident; the zero value where
// there is none.
func (d *Device) EscalationOf(
	entry andon.Time, state andon.State, past History,
) (Escalation, error) {
	if d.Escalated.isOf(entry, state) {
		return d.Escalated, nil
	}
	if d.AsideAt == 0 || d.Incident == 0 || entry < d.Incident {
		return Escalation{}, nil
	}
	return past.AsideOf(entry, state)
}

// newer is the order of records of several entries: by when they were made, then by their entry.
func (r Escalation) newer(than Escalation, states *andon.StateSet) bool {
	if r.At != than.At {
		return r.At > than.At
	}
	key := func(r Escalation) andon.EventKey {
		return andon.EventKey{Time: r.Entry, Severity: states.Severity(r.State), State: r.State}
	}
	return key(r).Compare(key(than)) > 0
}
