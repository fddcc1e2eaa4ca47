package memstore

import (
	"slices"

	"github.com/andonhq/andon"
)

// device is everything that was ever kept of one device.
type device struct {
	tenant      *tenant
	id          andon.DeviceID
	entries     []andon.Event                  // in the order of the log, without EscalatedTo
	escalations map[entryID][]andon.Escalation // of each entry, the newest last
	assignments []andon.Assignment             // by From, without To
	readings    []andon.Reading                // by Time
	retired     []andon.Time                   // each retirement, the newest last
	withdrawn   map[entryID]andon.Withdrawal   // of entries that stay among them
	metrics     map[andon.MetricName]bool      // that it ever sent
	received    andon.Time                     // the newest arrival of an event or a reading

	shown *andon.Device // what show worked out; nil after any change
}

// entryID tells the entries of one device apart.
type entryID struct {
	time  andon.Time
	state andon.State
}

func newDevice(t *tenant, id andon.DeviceID) *device {
	return &device{
		tenant:      t,
		id:          clone(id),
		escalations: map[entryID][]andon.Escalation{},
		withdrawn:   map[entryID]andon.Withdrawal{},
		metrics:     map[andon.MetricName]bool{},
	}
}

// changed is called after every change of what show works from.
func (d *device) changed() {
	d.shown = nil
	d.tenant.touched[d.id] = true
}

// hear notes the arrival of a message.
func (d *device) hear(received andon.Time) {
	d.received = max(d.received, received)
	d.changed()
}

// find returns where an entry with that key is or would be.
func (d *device) find(states *andon.StateSet, key andon.EventKey) (int, bool) {
	return slices.BinarySearchFunc(d.entries, key, func(e andon.Event, k andon.EventKey) int {
		return e.Key(states).Compare(k)
	})
}

// newestTime returns the time of the newest entry, retired or not; 0 where there is none.
func (d *device) newestTime() andon.Time {
	if e := d.newestEntry(); e != nil {
		return e.Time
	}
	return 0
}

func (d *device) newestEntry() *andon.Event {
	for _, e := range slices.Backward(d.entries) {
		if !d.isWithdrawn(&e) {
			return &e
		}
	}
	return nil
}

func (d *device) isWithdrawn(e *andon.Event) bool {
	_, withdrawn := d.withdrawn[entryID{e.Time, e.State}]
	return withdrawn
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
	run := lastWhile(live, func(e *andon.Event) bool { return e.State == newest.State })
	incident := lastWhile(live, func(e *andon.Event) bool { return states.Severity(e.State) > 0 })
	escalated := d.escalated(incident)
	d.shown = &andon.Device{
		ID:             d.id,
		State:          newest.State,
		Severity:       states.Severity(newest.State),
		Time:           newest.Time,
		Since:          run[0].Time,
		Received:       d.received,
		LastRetired:    d.retiredAt(),
		Operator:       d.operator(newest),
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
func (d *device) live() []andon.Event {
	retired := d.retiredAt()
	after := func(e *andon.Event) bool { return e.Time > retired }
	live := lastWhile(d.entries, after)
	if len(d.withdrawn) == 0 {
		return live // almost always: copying all for each entry would take minutes
	}
	isWithdrawn := func(e andon.Event) bool { return d.isWithdrawn(&e) }
	return slices.DeleteFunc(slices.Clone(live), isWithdrawn)
}

// retiredAt returns the newest retirement; 0 where there never was one.
func (d *device) retiredAt() andon.Time {
	if n := len(d.retired); n > 0 {
		return d.retired[n-1]
	}
	return 0
}

// lastWhile returns the longest tail of events in which each one is so.
func lastWhile(events []andon.Event, so func(*andon.Event) bool) []andon.Event {
	i := len(events)
	for i > 0 && so(&events[i-1]) {
		i--
	}
	return events[i:]
}

// operator returns who answers for the device: the newest assignment where there ever was one.
func (d *device) operator(newest andon.Event) andon.PersonID {
	if n := len(d.assignments); n > 0 {
		return d.assignments[n-1].Operator
	}
	return newest.Operator
}

// escalated returns the newest escalation, not withdrawn, of any of the entries.
func (d *device) escalated(incident []andon.Event) andon.Escalation {
	var newest andon.Escalation
	for i := range incident {
		e := d.newestEscalation(&incident[i])
		if e.To != "" && e.At >= newest.At { // of two at one instant, that of the later entry
			newest = e
		}
	}
	return newest
}

// newestEscalation returns the escalation record of an entry that counts: its newest.
func (d *device) newestEscalation(e *andon.Event) andon.Escalation {
	records := d.escalations[entryID{e.Time, e.State}]
	if len(records) == 0 {
		return andon.Escalation{}
	}
	return records[len(records)-1]
}

// answer returns an entry as it is shown: with whom it is escalated to now.
func (d *device) answer(e *andon.Event) andon.Event {
	shown := *e
	shown.EscalatedTo = d.newestEscalation(e).To
	return shown
}
