package simulate

import "github.com/andonhq/andon"

const (
	lateOneIn    = 50 // messages
	doubledOneIn = 50
	latestRounds = 6 // how late a message may be
)

// report lets a machine say its state, and what explains it, at a time.
func (f *Fleet) report(m *machine, at andon.Time) {
	metrics := f.measure(m)
	e := andon.Event{
		Device: m.id, Time: at, State: levels()[m.level].state,
		Message: m.explain(metrics), Attributes: m.attributes,
	}
	r := andon.Reading{Device: m.id, Time: at, Metrics: metrics}
	arrival, lost := f.arrival(m, at)
	if lost {
		return
	}
	f.readings.push(arrival, r)
	f.events.push(arrival, e)
	f.sightings.push(arrival, sighting{m, at, e.State, m.level})
	if f.chance(doubledOneIn) {
		f.events.push(arrival.Add(f.within(f.every)), e)
	}
	if f.chance(doubledOneIn) {
		f.readings.push(arrival.Add(f.within(f.every)), r)
	}
}

// arrival returns when a message of a machine arrives: mostly at once. What a silent machine says
// is lost, or waits in it until it can be heard again.
func (f *Fleet) arrival(m *machine, at andon.Time) (arrival andon.Time, lost bool) {
	switch {
	case m.silent > 0:
		return at.Add(f.every * andon.Duration(m.silent)), !m.backlog
	case f.chance(lateOneIn):
		return at.Add(f.within(f.every * latestRounds)), false
	}
	return at, false
}
