package memstore

import (
	"slices"
	"sort"

	"github.com/andonhq/andon"
)

type device struct {
	tenant      *tenant
	id          andon.DeviceID
	entries     []andon.Entry             // in the order of the log, without EscalatedTo
	assignments []andon.Assignment        // by From, without To
	readings    []andon.Reading           // by Time
	retired     []andon.Time              // each retirement, the newest last
	metrics     map[andon.MetricName]bool // that it ever sent
	received    andon.Time                // the newest arrival of an event or a reading
	withdrawn   bool                      // that any of the entries is

	shown *andon.Device // what show worked out; nil after any change
}

func newDevice(t *tenant, id andon.DeviceID) *device {
	return &device{tenant: t, id: clone(id), metrics: map[andon.MetricName]bool{}}
}

// changed is called after every change of what show works from.
func (d *device) changed() {
	d.shown = nil
	d.tenant.touched[d.id] = true
}

// hear notes the arrival of a message.
func (d *device) hear(received andon.Time) {
	d.received = andon.Heard(d.received, received)
	d.changed()
}

// find returns where an entry with that key is or would be.
func (d *device) find(key andon.EventKey) (int, bool) {
	states := d.tenant.record.States
	return sort.Find(len(d.entries), func(i int) int {
		return key.Compare(d.entries[i].Key(states))
	})
}

// newestTime returns the time of the newest entry, retired or not; 0 where there is none.
func (d *device) newestTime() andon.Time {
	if e := d.newestEntry(); e != nil {
		return e.Time
	}
	return 0
}

func (d *device) newestEntry() *andon.Entry {
	for _, e := range slices.Backward(d.entries) {
		if e.Withdrawn == nil {
			return &e
		}
	}
	return nil
}

// show works out what the device shows now, by walking back through its entries from the newest. It
// returns nil where it was never seen or is retired.
func (d *device) show(states *andon.StateSet) *andon.Device {
	if d.shown != nil {
		return d.shown
	}
	live := d.live()
	if len(live) == 0 {
		return nil
	}
	newest := live[len(live)-1]
	run := lastWhile(live, func(e *andon.Entry) bool { return e.State == newest.State })
	incident := lastWhile(live, func(e *andon.Entry) bool { return states.Severity(e.State) > 0 })
	escalated := escalatedOf(incident)
	d.shown = &andon.Device{
		ID:             d.id,
		State:          newest.State,
		Severity:       states.Severity(newest.State),
		Time:           newest.Time,
		Since:          run[0].Time,
		Received:       d.received,
		LastRetired:    d.retiredAt(),
		Operator:       d.operator(newest.Event),
		EscalatedTo:    escalated.To,
		EscalatedEntry: andon.EntryRef{Time: escalated.Time, State: escalated.State},
		EscalatedAt:    escalated.At,
		Message:        newest.Message,
		Attributes:     newest.Attributes,
	}
	if len(incident) > 0 {
		d.shown.IncidentSince = incident[0].Time
	}
	return d.shown
}

// live returns the entries after the newest retirement that were not withdrawn: a device that comes
// back starts again.
func (d *device) live() []andon.Entry {
	i, _ := d.find(andon.EventKey{Time: d.retiredAt() + 1})
	live := d.entries[i:]
	if !d.withdrawn {
		return live // almost always: copying all for each entry would take minutes
	}
	isWithdrawn := func(e andon.Entry) bool { return e.Withdrawn != nil }
	return slices.DeleteFunc(slices.Clone(live), isWithdrawn)
}

// retiredAt returns the newest retirement; 0 where there never was one.
func (d *device) retiredAt() andon.Time {
	if n := len(d.retired); n > 0 {
		return d.retired[n-1]
	}
	return 0
}

// lastWhile returns the longest tail of entries in which each one is so.
func lastWhile(entries []andon.Entry, so func(*andon.Entry) bool) []andon.Entry {
	i := len(entries)
	for i > 0 && so(&entries[i-1]) {
		i--
	}
	return entries[i:]
}

// operator returns who answers for the device: the newest assignment where there ever was one.
func (d *device) operator(newest andon.Event) andon.PersonID {
	if n := len(d.assignments); n > 0 {
		return d.assignments[n-1].Operator
	}
	return newest.Operator
}

// escalatedOf returns the newest escalation, not withdrawn, of any of the entries.
func escalatedOf(incident []andon.Entry) (newest andon.Escalation) {
	for i := range incident {
		e := incident[i].CurrentEscalation()
		if e.To != "" && e.At >= newest.At { // of two at one instant, that of the later entry
			newest = e
		}
	}
	return newest
}
