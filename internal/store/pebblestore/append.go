package pebblestore

import (
	"context"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
)

// Append is of andon.Log.
func (s *Store) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	if len(events) == 0 {
		return nil
	}
	t, err := s.tenant(ctx, id)
	if err != nil {
		return err
	}
	if err := s.room.check(); err != nil {
		return err
	}
	const eventBytes = 128 // about what one takes with its key
	batch := s.db.NewBatchWithSize(len(events)*eventBytes + 256)
	defer batch.Close()
	if err := encodeEvents(batch, t.number, events); err != nil {
		return err
	}
	if err := s.enter(ctx, t); err != nil {
		return err
	}
	w, err := s.stageEvents(ctx, batch, t, received, events)
	if err != nil {
		s.order.Unlock()
		return err
	}
	return s.commit(batch, w) // unlocks
}

// encodeEvents writes the rows of the events and of the escalations that they bring. It needs
// nothing but the events, so it runs outside the ordered section.
func encodeEvents(batch *pebble.Batch, tenant uint32, events []andon.Event) error {
	k := newKey(tableEvent, tenant)
	var value []byte
	for i := range events {
		e := &events[i]
		k = k.begin(tableEvent, tenant).event(e.Device, e.Time, e.State)
		value = appendEvent(value[:0], e)
		if err := batch.Set(k, value, nil); err != nil {
			return err
		}
		if e.EscalatedTo == "" {
			continue
		}
		escalation := andon.Escalation{
			Device: e.Device, Time: e.Time, State: e.State, At: e.Time, To: e.EscalatedTo,
		}
		if err := setEscalation(batch, tenant, &escalation); err != nil {
			return err
		}
	}
	return nil
}

// setEscalation writes an escalation beside its entry, and the hint for its supervisor.
func setEscalation(batch *pebble.Batch, tenant uint32, e *andon.Escalation) error {
	k := eventKey(tenant, e.Device, e.Time, e.State).invertedTime(e.At)
	k = append(k, e.To...)
	if err := batch.Set(k, appendEscalation(nil, e), nil); err != nil || e.To == "" {
		return err
	}
	entry := andon.EventKey{Time: e.Time, State: e.State, Device: e.Device}
	return batch.Set(supervisorKey(tenant, e.To, entry), nil, nil)
}

// staging works out what one write leads to. It belongs to who holds Store.order, and nothing that
// it does counts until keep.
type staging struct {
	store    *Store
	batch    *pebble.Batch
	tenant   *tenant
	states   *andon.StateSet
	received andon.Time // 0 where the write is no message
	changes  *changes
	records  [][]byte // the last one is being written
	key      key      // room

	newStates []andon.State
	ctx       context.Context // of reading for late entries
	late      *eventReader    // made at the first of them
}

func (s *Store) newStaging(b *pebble.Batch, t *tenant, received andon.Time, devices int) *staging {
	return &staging{
		store: s, batch: b, tenant: t, states: t.states(), received: received,
		changes: current.NewChanges[note](devices),
		records: [][]byte{newRecord(t.number, received)},
		key:     newKey(0, 0),
	}
}

// enter begins the ordered section of a write to a tenant. commit ends it.
func (s *Store) enter(ctx context.Context, t *tenant) error {
	s.order.Lock()
	err := ctx.Err() // waiting may have taken long
	switch {
	case err != nil:
	case t.gone:
		err = noTenant(t.record.Load().ID)
	default:
		err = s.room.check()
	}
	if err != nil {
		s.order.Unlock()
	}
	return err
}

// stageEvents stages events, which stand device by device and in the order of the log.
func (s *Store) stageEvents(
	ctx context.Context, b *pebble.Batch, t *tenant, received andon.Time, events []andon.Event,
) (*staging, error) {
	w := s.newStaging(b, t, received, countDevices(events))
	w.ctx = ctx
	defer w.close()
	for len(events) > 0 {
		if err := ctx.Err(); err != nil {
			w.forget()
			return nil, err
		}
		n := 1
		for n < len(events) && events[n].Device == events[0].Device {
			n++
		}
		if err := w.deviceEvents(events[:n]); err != nil {
			w.forget()
			return nil, err
		}
		events = events[n:]
	}
	w.keep()
	return w, nil
}

func countDevices(events []andon.Event) int {
	n := 0
	for i := range events {
		if i == 0 || events[i].Device != events[i-1].Device {
			n++
		}
	}
	return n
}

// deviceEvents folds the events of one device, oldest first. So whatever of them was folded lies
// before the one that is being folded, and the entry behind that one is found in the store alone.
func (w *staging) deviceEvents(events []andon.Event) error {
	slot := w.slot(events[0].Device)
	was := slot.Latest()
	d := w.changes.Copy(slot)
	d.Received = max(d.Received, w.received)
	for i := range events {
		e := &events[i]
		state, err := w.state(e.State)
		if err != nil {
			return err
		}
		operator := retain(e.Operator, d.Operator)
		err = d.Apply(current.Entry{
			Time: e.Time, Severity: w.states.Severity(state), State: state, Operator: operator,
		}, w.states, func(k andon.EventKey) (andon.Time, error) { return w.next(d, k) })
		if err != nil {
			return err
		}
		if e.EscalatedTo != "" {
			to := andon.PersonID(strings.Clone(string(e.EscalatedTo)))
			d.Escalate(current.Escalation{
				Entry: e.Time, State: state, At: e.Time, To: to,
			}, w.states)
		}
		if err := w.remember(slot, d.ID, operator, e.Time); err != nil {
			return err
		}
	}
	w.changed(slot, was, d)
	return nil
}

// changed writes down how a device changed. A record that has grown large is followed by another
// one: as one value it would fill a block that is too large for Pebble's cache, and every seek that
// met it would read it again.
func (w *staging) changed(s *slot, was, is *current.Device) {
	const large = 16 << 10
	last := len(w.records) - 1
	if len(w.records[last]) > large {
		w.records = append(w.records, newRecord(w.tenant.number, w.received))
		last++
	}
	w.records[last] = appendChange(
		w.records[last], s.Note.number, !s.Note.named, was, is, w.received)
}

// retain returns a person to keep: the one that is kept already where it is the same, else a clone,
// because what a request brings is part of its body.
func retain(p, kept andon.PersonID) andon.PersonID {
	if p == kept {
		return kept
	}
	return andon.PersonID(strings.Clone(string(p)))
}

// slot returns the place of a device, and makes it when there is none.
func (w *staging) slot(id andon.DeviceID) *slot {
	if s := w.tenant.fleet.Slot(id); s != nil {
		return s
	}
	w.store.mu.Lock()
	s := w.tenant.fleet.NewSlot(andon.DeviceID(strings.Clone(string(id))))
	w.store.mu.Unlock()
	s.Note.number = uint32(len(w.tenant.byNumber))
	w.tenant.byNumber = append(w.tenant.byNumber, s)
	return s
}

// state returns a state to keep, and enters it among those that have entries.
func (w *staging) state(name andon.State) (andon.State, error) {
	if kept, ok := w.tenant.seen[name]; ok {
		return kept, nil
	}
	kept := andon.State(strings.Clone(string(name)))
	w.tenant.seen[kept] = kept
	w.newStates = append(w.newStates, kept)
	w.key = w.key.begin(tableStateSeen, w.tenant.number).text(string(kept))
	return kept, w.batch.Set(w.key, nil, nil)
}

// remember enters the day in the device's directory, and the hour in its operator's, unless that
// was done for the device's entry before this one. A fleet that reports every five minutes pays one
// key in 288 for the one, and one in twelve for the other.
func (w *staging) remember(
	s *slot, id andon.DeviceID, operator andon.PersonID, at andon.Time,
) error {
	if day := at.Day(); s.Note.day != day {
		s.Note.day = day
		w.key = w.key.begin(tableDay, w.tenant.number).text(string(id)).inverted(day)
		if err := w.once(); err != nil {
			return err
		}
	}
	hour := at.Hour()
	if operator == "" || (s.Note.hour == hour && s.Note.hourOperator == string(operator)) {
		return nil
	}
	s.Note.hour, s.Note.hourOperator = hour, string(operator)
	w.key = w.key.begin(tableOperator, w.tenant.number).
		text(string(operator)).number(hour).text(string(id))
	return w.once()
}

// once writes the row of w.key, which has no value, unless it was written before.
func (w *staging) once() error {
	if !w.store.written.enter(w.key) {
		return nil
	}
	return w.batch.Set(w.key, nil, nil)
}

// keep makes what was staged what the next write is worked out from. The write must now
// be committed.
func (w *staging) keep() {
	w.changes.Stage()
	for _, s := range w.changes.Slots() {
		s.Note.named = true
	}
}

// forget undoes what staging remembered, because its write will not be committed.
func (w *staging) forget() {
	w.store.written.forget()
	for _, s := range w.changes.Slots() {
		s.Note.day, s.Note.hour = 0, 0
	}
	for _, state := range w.newStates {
		delete(w.tenant.seen, state)
	}
}

// next returns the time of the first entry of a device behind a key. Where the history between has
// been given back meanwhile, that is the newest entry, which is behind it for certain. What it
// reads is the store as it was when the ordered section was entered: every write before is in it.
func (w *staging) next(d *current.Device, behind andon.EventKey) (andon.Time, error) {
	if w.late == nil {
		late, err := newEventReader(w.ctx, w.store.db, w.tenant)
		if err != nil {
			return 0, err
		}
		w.late = late
	}
	behind.Device = d.ID
	q := andon.EventQuery{
		Span: andon.Span{From: behind.Time}, Order: andon.Asc, After: &behind, Limit: 1,
	}
	for e, err := range w.late.device(d.ID, q) {
		return e.Time, err
	}
	return d.Time, nil
}

func (w *staging) close() {
	if w.late != nil {
		w.late.close()
	}
}
