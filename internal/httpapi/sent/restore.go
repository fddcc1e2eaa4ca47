package sent

import "github.com/andonhq/andon"

// RestoreBody is a history that people made, from another server.
type RestoreBody struct {
	Assignments []RestoredAssignment `json:"assignments,omitempty"`
	Escalations []RestoredEscalation `json:"escalations,omitempty"`
	Retired     []andon.Retirement   `json:"retired,omitempty"`
}

// RestoredAssignment says who was responsible for a device from a time on.
type RestoredAssignment struct {
	Device   andon.DeviceID  `json:"device"`
	Operator *andon.PersonID `json:"operator" doc:"null: nobody"`
	From     andon.Time      `json:"from"`
}

// RestoredEscalation is a record of an entry.
type RestoredEscalation struct {
	Device andon.DeviceID  `json:"device"`
	Time   andon.Time      `json:"time"`
	State  andon.State     `json:"state"`
	To     *andon.PersonID `json:"to" doc:"null: withdrawn"`
	At     andon.Time      `json:"at"`
	By     andon.PersonID  `json:"by,omitempty"`
	Note   string          `json:"note,omitempty"`
}

// History is what the body says, as intake takes it.
func (b *RestoreBody) History() (h andon.History) {
	for _, a := range b.Assignments {
		h.Assignments = append(h.Assignments, andon.Assignment{
			Device: a.Device, Operator: OrNobody(a.Operator), From: a.From,
		})
	}
	for _, e := range b.Escalations {
		h.Escalations = append(h.Escalations, andon.Escalation{
			Device: e.Device, Time: e.Time, State: e.State,
			To: OrNobody(e.To), At: e.At, By: e.By, Note: e.Note,
		})
	}
	h.Retirements = b.Retired
	return h
}

// OrNobody returns a person as it is kept: null is nobody.
func OrNobody(p *andon.PersonID) andon.PersonID {
	if p == nil {
		return ""
	}
	return *p
}
