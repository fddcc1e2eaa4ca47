package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// A row that has a start and an end is a run: its state begins at the start and is over at the end.
// Andon keeps entries, so the end makes an entry, too: with the state of another run of the device
// that still goes on, else EndState. Where several go on at the same time, Severity selects which
// is shown. Where the next run begins at the end of the one before, the end makes no entry.

// run is a row that may be going on when later rows begin.
type run struct {
	Item[andon.Event]
	end   andon.Time // 0: it is not over
	shown bool       // it has been
}

// device has the runs that are not over, in the order in which they began.
type device struct {
	open []*run
	in   *run       // the one that is shown; nil where none goes on
	last andon.Time // when the last one began
}

// runs are those of one file. yield takes an entry; it is false where no more are wanted.
type runs struct {
	*Mapping
	devices map[andon.DeviceID]*device
	yield   func(Item[andon.Event]) bool
}

func (t *Table) runItems(m *Mapping) Items[andon.Event] {
	return func(yield func(Item[andon.Event], error) bool) {
		r := runs{
			Mapping: m, devices: map[andon.DeviceID]*device{},
			yield: func(item Item[andon.Event]) bool { return yield(item, nil) },
		}
		var order []*device // in which they came
		for item, err := range ItemsOf(t, m.run) {
			next := item.Value
			next.Index, next.Line, next.Bad = item.Index, item.Line, item.Bad
			d := r.devices[next.Value.Device]
			if d == nil && next.Bad == nil {
				d = &device{}
				r.devices[next.Value.Device], order = d, append(order, d)
			}
			if next.Bad == nil && next.Value.Time < d.last {
				next.Bad = fmt.Errorf("the run begins before the one above it of the same "+
					"device, at %s: sort the rows by their start", d.last)
			}
			if err != nil || next.Bad != nil {
				if !yield(next.Item, err) || err != nil {
					return
				}
				continue
			}
			if !r.until(d, next.Value.Time) {
				return
			}
			if d.close(next.Value.Time); len(d.open) > 0 {
				t.Overlaps++
			}
			d.open, d.last = append(d.open, &next), next.Value.Time
			if !r.show(d, next.Value.Time) {
				return
			}
		}
		for _, d := range order {
			if !r.until(d, andon.MaxTime+1) {
				return
			}
		}
	}
}

// until shows what follows at each end before a time.
func (r *runs) until(d *device, before andon.Time) bool {
	for {
		end := before
		for _, o := range d.open {
			if o.end != 0 {
				end = min(end, o.end)
			}
		}
		if end == before {
			return true
		}
		if d.close(end); !r.show(d, end) {
			return false
		}
	}
}

// close takes out the runs that are over at a time.
func (d *device) close(at andon.Time) {
	d.open = slices.DeleteFunc(d.open, func(o *run) bool { return o.end == at })
}

// show passes on what the device is in at a time, where that is another run than before.
func (r *runs) show(d *device, at andon.Time) bool {
	var top *run
	for _, o := range d.open {
		if top == nil || r.Severity == nil ||
			r.Severity(o.Value.State) >= r.Severity(top.Value.State) {
			top = o
		}
	}
	over := d.in
	if d.in = top; top == over {
		return true
	}
	if top == nil {
		return r.yield(Item[andon.Event]{Index: over.Index, Line: over.Line, Value: andon.Event{
			Device: over.Value.Device, Time: at, State: r.EndState,
		}})
	}
	item := top.Item
	if at != item.Value.Time {
		item.Index, item.Line, item.Value.Time = over.Index, over.Line, at
	}
	if top.shown {
		item.Value.EscalatedTo = "" // that was said when it began
	}
	top.shown = true
	return r.yield(item)
}

// run makes a run of a row. An end that is empty or a dash has not come.
func (m *Mapping) run(row *Row) (r run, err error) {
	if r.Value, err = m.Event(row); err != nil {
		return r, err
	}
	if text := strings.TrimSpace(joined(row, m.End, " ")); text == "" || text == "-" {
		return r, nil
	}
	if r.end, err = m.time(row, m.End); err != nil {
		return r, err
	}
	if r.end < r.Value.Time {
		return r, wrong(strings.Join(m.End, ","), fmt.Errorf("the run ends before it begins"))
	}
	r.end = max(r.end, r.Value.Time+1) // of two entries at one time the severer would go on
	return r, nil
}
