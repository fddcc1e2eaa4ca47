// Package jsonout writes the most frequent answers as JSON: events, what devices show,
// counts, intervals, readings. It writes the bytes that encoding/json would write, without HTML
// escapes, in a third of the time; most of what that takes is checking and compacting what types
// write themselves. All other values are written by encoding/json.
//
// A type is written here field by field, in the order of its declaration. A test fills values at
// random and compares each with encoding/json, so a field that is added and not written is found.
//
// The package knows no request and keeps no memory.
package jsonout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// Event is an entry in a list, with the newest record of its escalation.
type Event struct {
	andon.Event
	Escalation *client.Escalated `json:"escalation,omitempty" doc:"with escalated_to"`
}

// States are the counts of all states.
type States struct {
	Items  []client.StateCount `json:"items"`
	Total  int                 `json:"total" doc:"devices"`
	Silent int                 `json:"silent" doc:"of them"`
	Next   string              `json:"next,omitempty" doc:"cursor, where states are more than 2000"`
}

// Append appends a value, which is a pointer, to b. After an error b is unchanged.
func Append(b []byte, value any) ([]byte, error) {
	w := writer{text: b}
	switch v := value.(type) {
	case *andon.Event:
		w.event(v)
	case *Event:
		w.event(&v.Event)
		w.escalated(v.Escalation)
	case *andon.Arrival:
		w.event(&v.Event)
		w.string(`"position":`, v.Position.String())
	case *client.Device:
		w.device(v)
	case *States:
		w.states(v)
	case *client.Interval:
		w.interval(v)
	case *andon.Reading:
		w.reading(v)
	case *andon.MetricReading:
		w.metricReading(v)
	default:
		return encode(b, value)
	}
	if w.damaged { // encoding/json says what is wrong with the JSON that it holds
		return encode(b, value)
	}
	return append(w.text, '}'), nil
}

// encode appends a value as encoding/json does without the escapes of HTML.
func encode(b []byte, value any) ([]byte, error) {
	text := bytes.NewBuffer(b)
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return b, fmt.Errorf("write answer: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

func (w *writer) event(e *andon.Event) {
	w.begin()
	w.string(`"device":`, string(e.Device))
	w.time(`"time":`, e.Time)
	w.string(`"state":`, string(e.State))
	w.stringIfAny(`"operator":`, string(e.Operator))
	w.stringIfAny(`"escalated_to":`, string(e.EscalatedTo))
	w.stringIfAny(`"message":`, e.Message)
	w.objectIfAny(`"attributes":`, e.Attributes)
}

func (w *writer) escalated(e *client.Escalated) {
	if e == nil {
		return
	}
	w.name(`"escalation":`)
	w.begin()
	w.time(`"at":`, e.At)
	w.stringIfAny(`"by":`, string(e.By))
	w.stringIfAny(`"note":`, e.Note)
	w.write("}")
}

func (w *writer) device(d *client.Device) {
	w.begin()
	w.string(`"device":`, string(d.Device))
	w.stringIfAny(`"state":`, string(d.State))
	w.integer(`"severity":`, int(d.Severity))
	w.timeIfAny(`"since":`, d.Since)
	w.timeIfAny(`"time":`, d.Time)
	w.timeIfAny(`"received":`, d.Received)
	w.stringIfAny(`"operator":`, string(d.Operator))
	w.stringIfAny(`"escalated_to":`, string(d.EscalatedTo))
	w.escalated(d.Escalation)
	w.timeIfAny(`"incident_since":`, d.IncidentSince)
	w.name(`"silent":`)
	w.write(strconv.FormatBool(d.Silent))
	w.stringIfAny(`"message":`, d.Message)
	w.objectIfAny(`"attributes":`, d.Attributes)
	if m := d.Maintenance; m != nil {
		w.name(`"maintenance":`)
		w.begin()
		w.string(`"name":`, m.Name)
		w.time(`"until":`, m.Until)
		w.write("}")
	}
	w.timeIfAny(`"retired":`, d.Retired)
	w.timeIfAny(`"last_retired":`, d.LastRetired)
	w.profile(&d.Profile)
}

func (w *writer) profile(p *andon.Profile) {
	w.stringIfAny(`"group":`, string(p.Group))
	w.stringIfAny(`"name":`, p.Name)
	if len(p.Labels) > 0 {
		w.member(`"labels":`, p.Labels)
	}
	if p.Location != nil {
		w.member(`"location":`, p.Location)
	}
	w.stringIfAny(`"parent":`, string(p.Parent))
}

func (w *writer) states(s *States) {
	w.begin()
	w.name(`"items":`)
	w.write("[")
	for i := range s.Items {
		if i > 0 {
			w.write(",")
		}
		w.stateCount(&s.Items[i])
	}
	w.write("]")
	w.integer(`"total":`, s.Total)
	w.integer(`"silent":`, s.Silent)
	w.stringIfAny(`"next":`, s.Next)
}

func (w *writer) stateCount(c *client.StateCount) {
	w.begin()
	w.string(`"state":`, string(c.State))
	w.integer(`"severity":`, int(c.Severity))
	w.string(`"letter":`, c.Letter)
	w.string(`"colour":`, c.Colour)
	w.string(`"symbol":`, c.Symbol)
	w.integer(`"count":`, c.Count)
	w.integer(`"silent":`, c.Silent)
	w.write("}")
}

func (w *writer) interval(i *client.Interval) {
	w.begin()
	w.string(`"state":`, string(i.State))
	w.time(`"from":`, i.From)
	w.timeIfAny(`"to":`, i.To)
	w.number(`"seconds":`, i.Seconds)
}

func (w *writer) reading(r *andon.Reading) {
	w.begin()
	w.string(`"device":`, string(r.Device))
	w.time(`"time":`, r.Time)
	w.metrics(`"metrics":`, r.Metrics)
	w.objectIfAny(`"metadata":`, r.Metadata)
}

func (w *writer) metricReading(r *andon.MetricReading) {
	w.begin()
	w.string(`"device":`, string(r.Device))
	w.time(`"time":`, r.Time)
	w.number(`"value":`, r.Value)
}
