package cassandrastore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// last is the newest entry of a device in one state.
type last struct {
	state andon.State
	time  andon.Time

	whole bool // entry is known
	entry
}

// view is the partition of one device in latest_by_device: the truth about what it shows now. The
// zero value is a device of which nothing is kept.
type view struct {
	states   []last // in no order, retired or not
	retired  andon.Time
	heard    andon.Time
	assigned andon.Assignment // the newest; From is 0 where there never was one
	run      mark
	incident mark
	// escalated is the newest time of an entry that was ever escalated; 0 where none was.
	escalated  andon.Time
	escalation newestEscalation
	shards     int // partitions a day; 0 is 1
}

const (
	viewColumns = "SELECT state, time, heard, retired, assigned, " +
		"run, writetime(run), incident, writetime(incident), " +
		"escalated, escalation, writetime(escalation), shards"
	fromLatest = " FROM latest_by_device WHERE tenant = ? AND device = ?"
)

// look reads the view of a device, with the content of its entries where that is wanted.
func (s *Store) look(
	ctx context.Context, tenant string, device andon.DeviceID, content bool,
) (*view, error) {
	var r viewRow
	into, text := r.into(), viewColumns
	var e entry
	if content {
		text += ", entry"
		into = append(into, &e)
	}
	v := &view{}
	q := question{text + fromLatest, 2}
	err := s.each(ctx, q, []any{tenant, string(device)}, into, func() {
		r.fill(v)
		if r.time != 0 {
			v.states = append(v.states, last{
				state: andon.State(r.state), time: andon.Time(r.time), whole: content, entry: e,
			})
		}
	})
	return v, err
}

// viewRow is a row of the partition. What is static stands in each.
type viewRow struct {
	state               string
	time                int64 // 0: there is no row, only what is static
	heard, retired      int64
	assigned            assigned
	run, incident       []byte
	runStamp, incidents int64
	escalated           int64
	escalation          []byte
	escalationStamp     int64
	shards              int
}

func (r *viewRow) into() []any {
	return []any{&r.state, &r.time, &r.heard, &r.retired, &r.assigned,
		&r.run, &r.runStamp, &r.incident, &r.incidents,
		&r.escalated, &r.escalation, &r.escalationStamp, &r.shards}
}

func (r *viewRow) fill(v *view) {
	v.retired, v.heard, v.shards = andon.Time(r.retired), andon.Time(r.heard), r.shards
	v.escalated = andon.Time(r.escalated)
	v.escalation = unpackEscalation(r.escalation, r.escalationStamp)
	v.assigned = andon.Assignment{
		Operator: andon.PersonID(r.assigned.operator), From: andon.Time(r.assigned.since),
	}
	v.run, _ = unpackMark(r.run, r.runStamp)
	v.incident, _ = unpackMark(r.incident, r.incidents)
}

func (l *last) key(states *andon.StateSet) andon.EventKey {
	return andon.EventKey{Time: l.time, Severity: states.Severity(l.state), State: l.state}
}

// newest returns the newest entry; nil where there is none.
func (v *view) newest(states *andon.StateSet) *last {
	var newest *last
	for i := range v.states {
		if newest == nil || v.states[i].key(states).Compare(newest.key(states)) > 0 {
			newest = &v.states[i]
		}
	}
	return newest
}

// newestKey is the key of the newest entry; the zero value where there is none.
func (v *view) newestKey(states *andon.StateSet) andon.EventKey {
	if n := v.newest(states); n != nil {
		return n.key(states)
	}
	return andon.EventKey{}
}

// alive reports whether the device was seen and is not retired.
func (v *view) alive(states *andon.StateSet) bool {
	n := v.newest(states)
	return n != nil && n.time > v.retired
}

// base returns the newest entry of those that are not of the row of entries which ends with the
// newest one and of which every state is one of the row's: what the row begins behind.
func (v *view) base(states *andon.StateSet, inRow func(andon.State) bool) andon.EventKey {
	var base andon.EventKey
	if v.retired > 0 {
		base = andon.EventKey{Time: v.retired, Severity: retirement}
	}
	for i := range v.states {
		l := &v.states[i]
		if key := l.key(states); !inRow(l.state) && key.Compare(base) > 0 {
			base = key
		}
	}
	return base
}

// runBase is what the present run begins behind, of a device that is alive.
func (v *view) runBase(states *andon.StateSet) andon.EventKey {
	present := v.newest(states).state
	return v.base(states, func(s andon.State) bool { return s == present })
}

// incidentBase is what the present incident begins behind; there is none where open is false.
func (v *view) incidentBase(states *andon.StateSet) (base andon.EventKey, open bool) {
	if states.Severity(v.newest(states).state) == 0 {
		return andon.EventKey{}, false
	}
	return v.base(states, func(s andon.State) bool { return states.Severity(s) > 0 }), true
}

// raise takes an entry in. Of two deliveries of one entry the later stands; where one of them is
// not known, nor is which.
func (v *view) raise(e last) {
	for i := range v.states {
		was := &v.states[i]
		if was.state != e.state {
			continue
		}
		e.state = was.state
		known := was.whole && e.whole
		switch {
		case e.time > was.time, e.time == was.time && known && e.delivery > was.delivery:
			*was = e
		case e.time == was.time && !known:
			was.whole, was.entry = false, entry{}
		}
		return
	}
	e.state = andon.State(strings.Clone(string(e.state)))
	v.states = append(v.states, e)
}

// keepNewest forgets the content of entries but the newest, which nobody asks for.
func (v *view) keepNewest(states *andon.StateSet) {
	n := v.newest(states)
	for i := range v.states {
		if l := &v.states[i]; l != n {
			l.whole, l.entry = false, entry{}
		}
	}
}

// others returns the states that the device had but one.
func (v *view) others(but andon.State) (all []andon.State) {
	for _, l := range v.states {
		if l.state != but {
			all = append(all, l.state)
		}
	}
	return all
}

// clone is for who changes a view that others may read.
func (v *view) clone() *view {
	c := *v
	c.states = slices.Clone(v.states)
	return &c
}

// assignFrom is when an assignment would take effect.
func (v *view) assignFrom(now andon.Time) andon.Time {
	newest := andon.Time(0)
	for i := range v.states {
		newest = max(newest, v.states[i].time)
	}
	return max(now, newest+1, v.assigned.From+1)
}

// shown returns the device as it is shown, without its escalation. The marks are right.
func (v *view) shown(device andon.DeviceID, states *andon.StateSet) andon.Device {
	n := v.newest(states)
	d := andon.Device{
		ID: device, State: n.state, Severity: states.Severity(n.state), Time: n.time,
		Since: v.run.first, Received: v.heard, Operator: andon.PersonID(n.operator),
		Message: n.message, Attributes: andon.JSON(n.attributes), LastRetired: v.retired,
	}
	if v.assigned.From != 0 {
		d.Operator = v.assigned.Operator
	}
	if d.Severity > 0 {
		d.IncidentSince = v.incident.first
	}
	return d
}

// standing is the newest of escalation records of one entry: by when, and of two at one time the
// one whose supervisor comes first.
func standing(records []andon.Escalation) andon.Escalation {
	return slices.MinFunc(records, func(a, b andon.Escalation) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.To, b.To))
	})
}
