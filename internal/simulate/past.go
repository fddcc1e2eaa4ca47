package simulate

import "github.com/andonhq/andon"

// Past makes a log of what happened before anybody kept it. An assignment takes effect when it is
// made, so those of the past can't be made any more: the entries name the operator who answered
// then and the supervisor to whom they are escalated. The zero value is ready.
type Past struct {
	entries   []andon.Event
	order     []int // of arrival, into entries; a redelivery is the same number again
	place     map[andon.EventKey]int
	operators map[andon.DeviceID]andon.PersonID
	readings  []andon.Reading
}

// Add appends what arrived next.
func (p *Past) Add(m Messages) {
	if p.place == nil {
		p.place = map[andon.EventKey]int{}
		p.operators = map[andon.DeviceID]andon.PersonID{}
	}
	for _, e := range m.Events {
		p.event(e)
	}
	p.readings = append(p.readings, m.Readings...)
	for _, e := range m.Escalations {
		key := andon.EventKey{Time: e.Time, State: e.State, Device: e.Device}
		if i, there := p.place[key]; there {
			p.entries[i].EscalatedTo = e.To
		}
	}
	for _, a := range m.Assignments {
		p.operators[a.Device] = a.Operator
	}
}

func (p *Past) event(e andon.Event) {
	key := andon.EventKey{Time: e.Time, State: e.State, Device: e.Device}
	i, again := p.place[key]
	if !again {
		i = len(p.entries)
		p.place[key] = i
		e.Operator = p.operators[e.Device]
		p.entries = append(p.entries, e)
	}
	p.order = append(p.order, i)
}

// Messages returns the log: events and readings in the order of arrival, and the assignments that
// stand at its end. An entry that arrived twice is there twice, with the same content.
func (p *Past) Messages() Messages {
	m := Messages{Readings: p.readings, Events: make([]andon.Event, len(p.order))}
	for i, at := range p.order {
		m.Events[i] = p.entries[at]
	}
	listed := map[andon.DeviceID]bool{}
	for i := range p.entries { // not by the map, whose order is chance
		device := p.entries[i].Device
		if operator := p.operators[device]; operator != "" && !listed[device] {
			listed[device] = true
			m.Assignments = append(m.Assignments,
				andon.Assignment{Device: device, Operator: operator})
		}
	}
	return m
}
