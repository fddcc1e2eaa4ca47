package intake

import (
	"context"

	"github.com/andonhq/andon"
)

func (in *Intake) assign(
	ctx context.Context, tenant andon.TenantID, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	for i := range assignments {
		if err := CheckAssignment(&assignments[i]); err != nil {
			return nil, err
		}
	}
	return in.store.Assign(ctx, tenant, in.options.Now(), assignments)
}

// CheckAssignment reports what is wrong with an assignment by itself. No operator unassigns.
func CheckAssignment(a *andon.Assignment) error {
	if err := a.Device.Validate(); err != nil {
		return wrongAt("body.device", err)
	}
	return checkPerson("body.operator", a.Operator)
}

// wrongAt says where something is wrong, if it is.
func wrongAt(location string, err error) error {
	if err == nil {
		return nil
	}
	return andon.AtField(location, "%s", err)
}

func (in *Intake) escalate(
	ctx context.Context, tenant andon.TenantID, e andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	if err := checkEscalation(&e); err != nil {
		return andon.Escalation{}, false, err
	}
	if e.Time == 0 && e.State == "" {
		d, err := in.store.Device(ctx, tenant, e.Device)
		if err != nil {
			return andon.Escalation{}, false, err
		}
		e.Time, e.State = d.Time, d.State
		if e.To == "" && d.EscalatedTo != "" {
			e.Time, e.State = d.EscalatedEntry.Time, d.EscalatedEntry.State
		}
	}
	e.At = in.options.Now()
	return in.store.Escalate(ctx, tenant, e)
}

func checkEscalation(e *andon.Escalation) error {
	if err := wrongAt("path.device", e.Device.Validate()); err != nil {
		return err
	}
	if (e.Time == 0) != (e.State == "") {
		return andon.AtField("body.time",
			"time and state name an entry together: give both or none")
	}
	if e.State != "" {
		if err := e.State.Validate(); err != nil {
			return wrongAt("body.state", err)
		}
	}
	if err := checkNote(e.Note); err != nil {
		return err
	}
	if err := checkPerson("body.to", e.To); err != nil {
		return err
	}
	return checkPerson("body.by", e.By)
}

func checkNote(note string) error {
	if len(note) > andon.MaxMessageBytes {
		return andon.AtField("body.note", "note is %d bytes long, more than %d",
			len(note), andon.MaxMessageBytes)
	}
	return nil
}

func checkPerson(location string, p andon.PersonID) error {
	if p == "" {
		return nil
	}
	return wrongAt(location, p.Validate())
}

func checkWithdrawal(w *andon.Withdrawal) error {
	if err := w.Device.Validate(); err != nil {
		return wrongAt("path.device", err)
	}
	if err := w.State.Validate(); err != nil {
		return wrongAt("path.state", err)
	}
	if err := checkNote(w.Note); err != nil {
		return err
	}
	return checkPerson("body.by", w.By)
}
