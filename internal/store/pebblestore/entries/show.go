package entries

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// noteOf notes the escalation that a device shows for a caller that collects them. w is an entry of
// the device that was looked for.
func (r *Reader) noteOf(d *andon.Device, w *wanted) error {
	if d.EscalatedTo == "" || !andon.CollectsEscalations(r.ctx) {
		return nil
	}
	e, err := r.newestEscalation(w, d.EscalatedEntry)
	if err == nil && e.To == d.EscalatedTo {
		andon.NoteEscalation(r.ctx, e)
	}
	return err
}

// Complete fills in what devices show of their newest entries, at most Step of them; nothing, where
// an entry is gone.
func (r *Reader) Complete(devices []andon.Device) error {
	r.newest, r.wanted = r.newest[:0], r.wanted[:0]
	for i := range devices {
		d := &devices[i]
		r.newest = append(r.newest, andon.Event{Device: d.ID, Time: d.Time, State: d.State})
	}
	for i := range r.newest {
		r.wanted = append(r.wanted, wanted{event: &r.newest[i]})
	}
	if err := r.find(r.wanted); err != nil {
		return err
	}
	for i := range devices {
		devices[i].Message, devices[i].Attributes = r.newest[i].Message, r.newest[i].Attributes
		if err := r.noteOf(&devices[i], &r.wanted[i]); err != nil {
			return err
		}
	}
	return nil
}

// Arrival returns an entry in a row as lists show it, and whether they do: not where it was
// withdrawn, or its device was purged.
func (r *Reader) Arrival(number uint32, e *eventlog.Entry) (andon.Event, bool, error) {
	r.shown.Lock()
	id, ok := r.fleet.Device(number)
	r.shown.Unlock()
	if !ok {
		return andon.Event{}, false, nil
	}
	d := r.numbered(id, number)
	hits := r.take(nil, &d, e, 0, &andon.EventQuery{})
	if len(hits) == 0 {
		return andon.Event{}, false, nil
	}
	err := r.escalate(id, hits)
	return hits[0].Event, true, err
}

// counted is how much was looked at, and how much of that was wanted.
type counted struct{ scanned, rows int }

// explain adds to the plan of the context, if there is one, which entries were looked at.
func (r *Reader) explain() {
	p := andon.PlanOf(r.ctx)
	if p == nil {
		return
	}
	for _, of := range []struct {
		statement string
		counted
	}{
		{"memory: entries that were found before", r.again},
		{"memory: entries that are not in blocks yet", r.inMemory},
		{"entries within blocks or rows", r.inBlocks},
	} {
		if of.scanned > 0 {
			p.Add(andon.PlanStep{Statement: of.statement, Scanned: of.scanned, Rows: of.rows})
		}
	}
}
