package cassandrastore

import (
	"context"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
)

// view is the partition of one device in latest_by_device: the truth about what it shows now. The
// zero value is a device that has no rows.
type view struct {
	merge.Latest
	// escalated is the newest time of an entry that was ever escalated; 0 if none was.
	escalated  andon.Time
	escalation rows.NewestEscalation
	shards     int   // partitions a day; 0 is 1
	heardStamp int64 // that Received was written with

	pending  *rows.Pending // the feed may not say yet what the device shows
	searched bool          // what the device shows was searched for in the log

	read merge.Moment // when it was asked for; what this process wrote since is in it

	withdrew time.Time      // when an entry was withdrawn last
	hidden   []merge.Newest // of a state, withdrawn: what is older may have lost to it
	restored []merge.Newest // that were found in the log for those
}

const (
	viewColumns = "SELECT state, time, heard, writetime(heard), retired, assigned, " +
		"run, writetime(run), incident, writetime(incident), " +
		"escalated, escalation, writetime(escalation), shards, withdrawn, " +
		"pending, writetime(pending)"
	fromLatest = " FROM latest_by_device WHERE tenant = ? AND device = ?"
)

// readView reads the view of a device, with the content of its entries if content is set. Until the
// review of a withdrawal it reads the log for entries that may have lost to the withdrawn one.
func (s *Store) readView(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, content bool,
) (*view, error) {
	v, err := s.readPartition(ctx, t.Key, device, content)
	gen := v.Generation(t.Gen())
	if settled := v.Run.Gen == gen && v.Run.Final; err != nil || len(v.hidden) == 0 || settled {
		return v, err
	}
	return v, s.findHidden(ctx, t, device, v)
}

func (s *Store) readPartition(
	ctx context.Context, tenant string, device andon.DeviceID, content bool,
) (*view, error) {
	var r viewRow
	v := &view{}
	into, text := r.columns(v), viewColumns
	var e rows.EntryValue
	if content {
		text += ", entry"
		into = append(into, &e)
	}
	q := cql.Ask(text+fromLatest, 2)
	err := s.db.Each(ctx, q, []any{tenant, string(device)}, into, func() {
		r.unpack(v)
		v.take(r.state, r.time, content, merge.Content(e))
	})
	return v, err
}

// take adds a row to the view. The rows of withdrawn entries come first, by time.
func (v *view) take(state andon.State, at andon.Time, known bool, content merge.Content) {
	if w, ok := rows.WithdrawnIn(string(state)); ok {
		v.Withdrawn, state = append(v.Withdrawn, w), w.State
	}
	if at == 0 {
		return
	}
	n := merge.Newest{State: state, Time: at, Known: known, Content: content}
	if v.IsWithdrawn(n.State, n.Time) {
		v.hidden = append(v.hidden, n)
	} else {
		v.Raise(n)
	}
}

// viewRow is what a row of the partition has next to what its static columns put into a view.
type viewRow struct {
	state andon.State
	time  andon.Time // 0: there is no row, only what is static

	withdrew                           andon.Time
	run, incident, escalation, pending []byte
	runStamp, incidentStamp            int64
	escalationStamp, pendingStamp      int64
}

func (r *viewRow) columns(v *view) []any {
	return []any{&r.state, &r.time, &v.Received, &v.heardStamp, &v.Retired,
		(*rows.AssignedValue)(&v.Assigned),
		&r.run, &r.runStamp, &r.incident, &r.incidentStamp,
		&v.escalated, &r.escalation, &r.escalationStamp, &v.shards, &r.withdrew,
		&r.pending, &r.pendingStamp}
}

func (r *viewRow) unpack(v *view) {
	v.withdrew = r.withdrew.Std()
	v.escalation = rows.UnpackEscalation(r.escalation, r.escalationStamp)
	v.Run, _ = rows.UnpackStart(r.run, r.runStamp)
	v.Incident, _ = rows.UnpackStart(r.incident, r.incidentStamp)
	v.pending = rows.UnpackPending(r.pending, r.pendingStamp)
}

// fresh reports whether a view may be used without reading again: no other process can have written
// since alone (0: any may have), or it is younger than age. A nil view is not.
func (v *view) fresh(alone, now merge.Moment, age time.Duration) bool {
	return v != nil && ((alone != 0 && v.read >= alone) || now < v.read.Add(age))
}

// hear notes the arrival of a message, which is written after a stamp was taken. That of a process
// whose clock was ahead is later.
func (v *view) hear(received andon.Time, stamp int64) {
	v.Received = andon.Heard(v.Received, received)
	v.heardStamp = max(v.heardStamp+1, stamp)
}

// clone returns a copy that may be changed while others read v.
func (v *view) clone() *view {
	c := *v
	c.Latest = v.Latest.Clone()
	return &c
}

// shown returns the device as it is shown, without its escalation. The starts of the view must be
// resolved.
func (v *view) shown(device andon.DeviceID, states *andon.StateSet) andon.Device {
	folded := v.Device(device, states)
	d, n := folded.Show(states), v.Newest(states)
	d.Message, d.Attributes = n.Message, n.Attributes
	return d
}

// statesListed is how many states of a device the directory names for a day.
const statesListed = 16

// labelOf is the label of an entry's state in the directory.
func (v *view) labelOf(state andon.State) string {
	if len(v.States) > statesListed {
		return rows.AnyLabel
	}
	return string(state)
}
