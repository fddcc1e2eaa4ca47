package simulate

import (
	"slices"

	"github.com/andonhq/andon"
)

// delivery is a message under way.
type delivery struct {
	at    andon.Time // when it arrives
	event andon.Event
}

const (
	lateOneIn    = 50 // messages
	doubledOneIn = 50
	latestRounds = 6 // how late a message may be
)

// send puts a message on its way: most arrive at once, some late, some twice.
func (f *Fleet) send(e andon.Event) {
	at := e.Time
	if f.chance(lateOneIn) {
		at = at.Add(f.within(f.every * latestRounds))
	}
	f.pending = append(f.pending, delivery{at, e})
	if f.chance(doubledOneIn) {
		f.pending = append(f.pending, delivery{at.Add(f.within(f.every)), e})
	}
}

// arrived takes out what has arrived by now, in the order of arrival.
func (f *Fleet) arrived() []andon.Event {
	slices.SortStableFunc(f.pending, func(a, b delivery) int { return int(a.at - b.at) })
	n := 0
	for n < len(f.pending) && f.pending[n].at < f.now {
		n++
	}
	events := make([]andon.Event, n)
	for i := range events {
		events[i] = f.pending[i].event
	}
	f.pending = slices.Delete(f.pending, 0, n)
	return events
}
