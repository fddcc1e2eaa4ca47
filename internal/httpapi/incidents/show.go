// Package incidents shows, selects, sorts and counts incidents for the routes about them, and has
// the bodies of what people do about them.
//
// The package knows no route and reads nothing.
package incidents

import (
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/people"
)

// Show returns an incident as it is answered, without its steps.
func Show(i *people.Incident) client.Incident {
	shown := client.Incident{
		ID: i.ID, Device: i.Device, Kind: string(i.Kind), Status: string(i.Status()),
		State: i.State, Severity: i.Severity, Worst: i.Worst, Since: i.Since, Until: i.Until,
		Opened: i.Opened, Ended: i.Ended, Count: i.Count, Operator: i.Operator,
		Message: i.Message, Late: i.Late, Joined: i.Joined, Covers: i.Covers,
		TakenBy: i.TakenBy, Maintenance: i.Maintenance, Flapping: i.Flapping,
		Latched: i.Latch && !i.Reset,
	}
	if a := i.Acknowledged; a != nil {
		shown.Acknowledged = new(client.IncidentAcknowledged(*a))
	}
	if s := i.Shelf; s != nil {
		shown.Shelved = &client.IncidentShelved{
			By: s.By, At: s.At, Until: s.Until, Once: s.Once, Reason: s.Reason,
		}
	}
	if r := i.Removed; r != nil {
		shown.OutOfService = new(client.IncidentRemoved(*r))
	}
	if p := i.Policy; p != nil {
		shown.Escalation = &client.IncidentEscalation{
			Policy: p.Policy, Step: p.Step, NextAt: p.Next,
		}
	}
	for n := len(i.Steps) - 1; n >= 0 && shown.Note == nil; n-- {
		if s := i.Steps[n]; s.By != "" && s.Note != "" {
			shown.Note = new(client.IncidentStep(s))
		}
	}
	return shown
}

// ShowWindow returns a window of maintenance as a device is answered with it; nil: it is in none.
func ShowWindow(w *people.Window) *client.InMaintenance {
	if w == nil {
		return nil
	}
	return &client.InMaintenance{Name: w.Name, Until: w.Ends}
}

// ShowWhole returns an incident with its steps.
func ShowWhole(i *people.Incident) client.Incident {
	shown := Show(i)
	for _, s := range i.Steps {
		shown.Steps = append(shown.Steps, client.IncidentStep(s))
	}
	return shown
}

// Count counts incidents by status and severity.
func Count(all []*people.Incident) client.IncidentCounts {
	n := client.IncidentCounts{Total: len(all), Statuses: map[string]int{}}
	var severities [256]client.IncidentSeverityCount
	for _, i := range all {
		status := i.Status()
		n.Statuses[string(status)]++
		of := &severities[i.Severity]
		of.Count++
		if status == people.Unacknowledged || status == people.Returned {
			of.Unacknowledged++
		}
	}
	n.Severities = []client.IncidentSeverityCount{}
	for severity := len(severities) - 1; severity >= 0; severity-- {
		if of := severities[severity]; of.Count > 0 {
			of.Severity = uint8(severity)
			n.Severities = append(n.Severities, of)
		}
	}
	return n
}
