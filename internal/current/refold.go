package current

import (
	"cmp"
	"iter"
	"slices"

	"github.com/andonhq/andon"
)

// Logged is an entry of a device's log as folding it again sees it, with its newest escalation
// record, withdrawn or not; At is 0 where it has none.
type Logged struct {
	Entry
	Escalated Escalation
}

// Refold works a device out again from its log, newest entry first, without the entries that are
// gone: after one was withdrawn, or under another set of states. It reads no more than it needs.
// Where the log has expired it uses what the device knew before of what is older than the log.
func (d *Device) Refold(
	log iter.Seq2[Logged, error], states *andon.StateSet, gone func(andon.EntryRef) bool,
	past History,
) error {
	f := folding{is: Device{
		ID: d.ID, Assignee: d.Assignee, AssignedFrom: d.AssignedFrom,
		Retired: d.Retired, Received: d.Received,
	}}
	done := false
	for e, err := range log {
		if err != nil {
			return err
		}
		f.oldest = e.Time
		if !gone(andon.EntryRef{Time: e.Time, State: e.State}) && f.add(e) {
			done = true
			break
		}
	}
	if !done {
		if err := f.remember(d, states, gone, past); err != nil {
			return err
		}
	}
	past.ForgetAside()
	*d = f.is
	// In the order in which they were made, as they came.
	slices.SortFunc(f.escalations, func(a, b Escalation) int { return cmp.Compare(a.At, b.At) })
	for _, r := range f.escalations {
		if err := d.Escalate(r, states, past); err != nil {
			return err
		}
	}
	return nil
}

// folding is a device while its entries are added, newest first.
type folding struct {
	is          Device
	oldest      andon.Time // of the log, gone or not, as far as it was read; 0 before the first
	begun       bool       // the newest entry is known
	run         bool       // where the present run begins is known
	incident    bool       // where the present incident begins is known, or there is none
	escalations []Escalation
}

// add adds an entry, and reports whether nothing older matters.
func (f *folding) add(e Logged) (done bool) {
	if !f.begun {
		f.begun = true
		f.is.Time, f.is.State, f.is.Operator = e.Time, e.State, e.Operator
		f.incident = e.Severity == 0
	}
	if e.Time <= f.is.Retired {
		return true
	}
	if !f.run {
		if f.run = e.State != f.is.State; f.run {
			f.is.PrevTime, f.is.PrevState = e.Time, e.State
		} else {
			f.is.Since = e.Time
		}
	}
	if !f.incident {
		if f.incident = e.Severity == 0; f.incident {
			f.is.LastNormal = e.Time
		} else {
			f.is.Incident = e.Time
			if e.Escalated.At != 0 {
				f.escalations = append(f.escalations, e.Escalated)
			}
		}
	}
	return f.run && f.incident
}

// remember continues with what the device knew of entries that are older than all of the log.
func (f *folding) remember(
	was *Device, states *andon.StateSet, gone func(andon.EntryRef) bool, past History,
) error {
	before := f.oldest
	lost := func(at andon.Time, state andon.State) bool {
		return at != 0 && (before == 0 || at < before) &&
			!gone(andon.EntryRef{Time: at, State: state})
	}
	for _, e := range was.known(states) {
		if lost(e.Time, e.State) && f.add(Logged{Entry: e}) {
			break
		}
	}
	if f.is.Incident == 0 {
		return nil
	}
	if !f.incident && lost(was.Incident, "") && was.Incident < f.is.Incident {
		f.is.Incident = was.Incident
	}
	if !f.incident && lost(was.LastNormal, "") && was.Incident == f.is.Incident {
		f.is.LastNormal = was.LastNormal
	}
	escalations := []Escalation{was.Escalated}
	if was.AsideAt != 0 {
		for r, err := range past.Aside(f.is.Incident) {
			if err != nil {
				return err
			}
			escalations = append(escalations, r)
		}
	}
	for _, r := range escalations {
		if lost(r.Entry, r.State) {
			f.escalations = append(f.escalations, r)
		}
	}
	return nil
}

// known returns the entries that the device knows of, newest first, each once.
func (d *Device) known(states *andon.StateSet) []Entry {
	known := []Entry{
		{Time: d.Time, State: d.State, Operator: d.Operator},
		{Time: d.Since, State: d.State}, {Time: d.PrevTime, State: d.PrevState},
	}
	for i := range known {
		known[i].Severity = states.Severity(known[i].State)
	}
	slices.SortStableFunc(known, func(a, b Entry) int { return b.key().Compare(a.key()) })
	return slices.CompactFunc(known, func(a, b Entry) bool { return a.key() == b.key() })
}
