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
	kept, err := in.store.Assign(ctx, tenant, in.options.Now(), assignments)
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// CheckAssignment reports what is wrong with an assignment by itself. No operator unassigns.
func CheckAssignment(a *andon.Assignment) error {
	if err := a.Device.Validate(); err != nil {
		return andon.AtField("body.device", "%s", err)
	}
	return checkPerson("body.operator", a.Operator)
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
	kept, added, err = in.store.Escalate(ctx, tenant, e)
	return kept, added, err
}

func checkEscalation(e *andon.Escalation) error {
	if err := e.Device.Validate(); err != nil {
		return andon.AtField("path.device", "%s", err)
	}
	if (e.Time == 0) != (e.State == "") {
		return andon.AtField("body.time",
			"time and state name an entry together: give both or none")
	}
	if e.State != "" {
		if err := e.State.Validate(); err != nil {
			return andon.AtField("body.state", "%s", err)
		}
	}
	if len(e.Note) > andon.MaxMessageBytes {
		return andon.AtField("body.note", "note is %d bytes long, more than %d",
			len(e.Note), andon.MaxMessageBytes)
	}
	if err := checkPerson("body.to", e.To); err != nil {
		return err
	}
	return checkPerson("body.by", e.By)
}

func checkPerson(location string, p andon.PersonID) error {
	if p == "" {
		return nil
	}
	if err := p.Validate(); err != nil {
		return andon.AtField(location, "%s", err)
	}
	return nil
}

func (in *Intake) retire(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID,
) (andon.Time, error) {
	if err := device.Validate(); err != nil {
		return 0, andon.AtField("path.device", "%s", err)
	}
	at, err := in.store.Retire(ctx, tenant, device, in.options.Now())
	return at, err
}

func (in *Intake) withdraw(
	ctx context.Context, tenant andon.TenantID, w andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	if err := checkWithdrawal(&w); err != nil {
		return w, false, err
	}
	w.At = in.options.Now()
	kept, added, err = in.store.Withdraw(ctx, tenant, w)
	return kept, added, err
}

func checkWithdrawal(w *andon.Withdrawal) error {
	if err := w.Device.Validate(); err != nil {
		return andon.AtField("path.device", "%s", err)
	}
	if err := w.State.Validate(); err != nil {
		return andon.AtField("path.state", "%s", err)
	}
	if len(w.Note) > andon.MaxMessageBytes {
		return andon.AtField("body.note", "note is %d bytes long, more than %d",
			len(w.Note), andon.MaxMessageBytes)
	}
	return checkPerson("body.by", w.By)
}

func (in *Intake) purge(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID,
) error {
	if err := device.Validate(); err != nil {
		return andon.AtField("path.device", "%s", err)
	}
	if err := in.store.Purge(ctx, tenant, device); err != nil {
		return err
	}
	return nil
}
