package intake

import "github.com/andonhq/andon"

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
