package httpapi

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/jsonout"
)

// The examples of the document: one afternoon of one press.

// exampleTime is 2020-04-24T14:40:00Z.
const exampleTime andon.Time = 1_587_739_200_000_000

const exampleMinute andon.Duration = 60_000_000

func exampleSentEvent() andon.Event {
	return andon.Event{
		Device: "press-7", Time: exampleTime, State: "WARNING1", Operator: "Liz",
		Message: "overheat", Attributes: `{"line":"L3"}`,
	}
}

func exampleEvent() andon.Event {
	e := exampleSentEvent()
	e.EscalatedTo = "Sara"
	return e
}

func exampleListed() jsonout.Event {
	e := exampleEscalation()
	return jsonout.Event{
		Event: exampleEvent(), Escalation: &client.Escalated{At: e.At, By: e.By, Note: e.Note},
	}
}

func exampleEntry() entryJSON {
	e := exampleEscalation()
	return entryJSON{
		Event:       exampleEvent(),
		Escalations: []recordJSON{{To: e.To, At: e.At, By: e.By, Note: e.Note}},
	}
}

func exampleEscalationBody() escalationBody {
	return escalationBody{To: new(andon.PersonID("Sara")), By: "Liz", Note: "the third time today"}
}

func exampleEscalation() escalationJSON {
	return escalationJSON{
		Device: "press-7", Time: exampleTime, State: "WARNING1",
		To: new(andon.PersonID("Sara")), At: exampleTime.Add(5 * exampleMinute), By: "Liz",
		Note: "the third time today",
	}
}

func exampleSentAssignment() map[string]string {
	return map[string]string{"device": "press-7", "operator": "Liz"}
}

func exampleAssignment() assignmentJSON {
	liz := andon.PersonID("Liz")
	return assignmentJSON{Device: "press-7", Operator: &liz, From: exampleTime}
}

func exampleDevice() client.Device {
	return client.Device{
		Device: "press-7", State: "WARNING1", Severity: 32, Since: exampleTime,
		Time:     exampleTime.Add(10 * exampleMinute),
		Received: exampleTime.Add(10*exampleMinute) + 250_000,
		Operator: "Liz", EscalatedTo: "Sara", IncidentSince: exampleTime,
		Message: "overheat", Attributes: `{"line":"L3"}`,
	}
}

func exampleStates() jsonout.States {
	set := andon.DefaultStates()
	return jsonout.States{
		Items: []client.StateCount{
			showCount(set.Look("NORMAL"), andon.StateCount{Count: 981, Silent: 3}),
			showCount(set.Look("WARNING1"), andon.StateCount{Count: 19, Silent: 4}),
		},
		Total: 1000, Silent: 7,
	}
}

func exampleInterval() client.Interval {
	return client.Interval{
		State: "WARNING1", From: exampleTime, To: exampleTime.Add(15 * exampleMinute), Seconds: 900,
	}
}

func exampleReading() andon.Reading {
	return andon.Reading{
		Device: "press-7", Time: exampleTime, Metadata: `{"fw":"1.2"}`,
		Metrics: andon.Metrics{{Name: "humidity", Value: 40}, {Name: "temperature", Value: 21.5}},
	}
}

// exampleSentReading has no time, so that it can be sent as it is: one that is older than readings
// are kept would be refused.
func exampleSentReading() map[string]any {
	return map[string]any{
		"device": "press-7", "metadata": map[string]string{"fw": "1.2"},
		"metrics": map[string]float64{"humidity": 40, "temperature": 21.5},
	}
}

func exampleMetric() andon.MetricReading {
	return andon.MetricReading{Device: "press-7", Time: exampleTime, Value: 21.5}
}

func exampleLatestBody() latestBody {
	return latestBody{Devices: []andon.DeviceID{"press-7", "press-8"}}
}

func exampleLatest() latestJSON {
	return latestJSON{
		Items: []andon.Reading{exampleReading()}, Missing: []andon.DeviceID{"press-8"},
	}
}

func exampleTenant() client.Tenant {
	t := andon.NewTenant("plant-2")
	return showTenant(&t)
}

func exampleTenantBody() tenantBody {
	days := andon.Retention(exampleMinute * 60 * 24 * 90)
	return tenantBody{
		Retention: &retentionBody{Events: &days}, SilentAfter: new(30 * exampleMinute),
	}
}
