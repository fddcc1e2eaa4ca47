package table

import (
	"cmp"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
)

// A row that has a start and an end is a run: its state begins at the start and is over at the end.
// Andon keeps entries, so the end makes an entry, too: with the state of another run of the device
// that still goes on, else EndState. Where several go on at the same time, Overlaps selects which
// is shown. Where the next run begins at the end of the one before, the end makes no entry.

// Overlaps are the runs of a file of which several go on at once in one device.
type Overlaps struct {
	// Severity orders the states: the device is in the severest run that goes on, of equal ones in
	// the one that began last. nil: always in the one that began last.
	Severity func(andon.State) uint8

	Began int // runs that began while another one of their device went on
	Never int // of those, the runs that were never shown
}

// run is a row that may be going on when later rows begin.
type run struct {
	ingest.Item[andon.Event]
	end   andon.Time // 0: it is not over
	shown bool
}

// runs are those of one file.
type runs struct {
	endState andon.State
	overlaps *Overlaps
	devices  map[andon.DeviceID]*begun
	order    []*begun // in which the devices came
}

// begun are the runs of one device that are not over, in the order in which they began.
type begun struct {
	open []run
	last andon.Time // when the last one began
}

// top returns the index of the run that a device is in, -1 where none goes on.
func (r *runs) top(open []run) int {
	top := len(open) - 1
	if r.overlaps.Severity == nil {
		return top
	}
	for i := top - 1; i >= 0; i-- {
		if r.overlaps.Severity(open[i].Value.State) > r.overlaps.Severity(open[top].Value.State) {
			top = i
		}
	}
	return top
}

// begin takes the next run of a device, and passes on what became true up to then.
func (r *runs) begin(next run, yield func(ingest.Item[andon.Event]) bool) (more bool, err error) {
	d := r.devices[next.Value.Device]
	if d == nil {
		d = &begun{}
		r.devices[next.Value.Device] = d
		r.order = append(r.order, d)
	}
	start := next.Value.Time
	if start < d.last {
		return true, bad("the run begins before the one above it of the same device, at %s: "+
			"sort the rows by their start", d.last)
	}
	if !r.close(d, &next, yield) {
		return false, nil
	}
	if len(d.open) > 0 {
		r.overlaps.Began++
	}
	d.open, d.last = append(d.open, next), start
	if last := len(d.open) - 1; r.top(d.open) == last {
		d.open[last].shown = true
		return yield(next.Item), nil
	}
	return true, nil
}

// end passes on what is left at the end of the file.
func (r *runs) end(yield func(ingest.Item[andon.Event]) bool) {
	for _, d := range r.order {
		if !r.close(d, nil, yield) {
			return
		}
		r.forget(d.open)
	}
}

// forget accounts for runs that are over, or that never end.
func (r *runs) forget(over []run) {
	for i := range over {
		if !over[i].shown {
			r.overlaps.Never++
		}
	}
}

// close takes out the runs that are over when next begins, at each end all that end then, and
// passes on what followed. next is nil at the end of the file.
func (r *runs) close(d *begun, next *run, yield func(ingest.Item[andon.Event]) bool) bool {
	until := andon.MaxTime
	if next != nil {
		until = next.Value.Time
	}
	for {
		end := andon.Time(0)
		for i := range d.open {
			if e := d.open[i].end; e != 0 && e <= until && (end == 0 || e < end) {
				end = e
			}
		}
		if end == 0 {
			return true
		}
		shown := d.open[r.top(d.open)]
		over := slices.DeleteFunc(slices.Clone(d.open), func(o run) bool { return o.end != end })
		d.open = slices.DeleteFunc(d.open, func(o run) bool { return o.end == end })
		r.forget(over)
		if shown.end != end || next != nil && end == until && r.covers(next, d.open) {
			continue
		}
		if !yield(r.after(&shown, d.open)) {
			return false
		}
	}
}

// covers reports whether a device is in the next run as soon as it begins, while others are open.
func (r *runs) covers(next *run, open []run) bool {
	return r.top(append(slices.Clone(open), *next)) == len(open)
}

// after is what a device is in once the run that was shown is over, while others are open.
func (r *runs) after(over *run, open []run) ingest.Item[andon.Event] {
	item := ingest.Item[andon.Event]{Index: over.Index, Line: over.Line}
	if top := r.top(open); top >= 0 {
		item.Value = open[top].Value
		if open[top].shown {
			item.Value.EscalatedTo = "" // that was said when it began
		}
		open[top].shown = true
	} else {
		item.Value = andon.Event{Device: over.Value.Device, State: r.endState}
	}
	item.Value.Time = over.end
	return item
}

func (t *Table) runEntries(m *Mapping) Entries[andon.Event] {
	return func(yield func(ingest.Item[andon.Event], error) bool) {
		r := runs{
			endState: m.EndState, overlaps: cmp.Or(m.Overlaps, &Overlaps{}),
			devices: map[andon.DeviceID]*begun{},
		}
		r.overlaps.Began, r.overlaps.Never = 0, 0
		pass := func(item ingest.Item[andon.Event]) bool { return yield(item, nil) }
		for item, err := range entries(t, m.run) {
			next, more := item.Value, true
			next.Index, next.Line = item.Index, item.Line
			if err == nil {
				more, err = r.begin(next, pass)
				err = atRow(Row{Index: item.Index, Line: item.Line}, err)
			}
			if err != nil {
				more = yield(next.Item, err)
			}
			if !more || fatal(err) {
				return
			}
		}
		r.end(pass)
	}
}

// run makes a run of a row. An end that is empty or a dash has not come.
func (m *Mapping) run(row *Row) (r run, err error) {
	if r.Value, err = m.event(row); err != nil {
		return r, err
	}
	text := strings.TrimSpace(joinWith(row, m.End, " "))
	if text == "" || text == "-" {
		return r, nil
	}
	column := strings.Join(m.End, ",")
	if r.end, err = m.parseTime(text, row); err != nil {
		return r, &RowError{Column: column, Reason: err.Error()}
	}
	if r.end < r.Value.Time {
		return r, &RowError{Column: column, Reason: "the run ends before it begins"}
	}
	r.end = max(r.end, r.Value.Time+1) // of two entries at one time the severer would go on
	return r, nil
}

func (m *Mapping) checkEnd() error {
	if len(m.End) == 0 {
		return nil
	}
	if err := m.EndState.Validate(); err != nil {
		return andon.Errorf(andon.Invalid, "the state at the end of a row: %w", err)
	}
	return nil
}
