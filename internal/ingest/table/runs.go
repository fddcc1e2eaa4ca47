package table

import (
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
)

// A row that has a start and an end is a run: its state begins at the one and is over at the other.
// Andon keeps entries, so what a device is in then is an entry, too: the state of another run of
// it that still goes on, the one that began last; else EndState. Where the next run begins at the
// very end of the one before, its own entry says so.

// run is a row that may be going on when later rows begin.
type run struct {
	ingest.Item[andon.Event]
	end andon.Time // 0: it is not over
}

// runs are those of one file.
type runs struct {
	endState andon.State
	devices  map[andon.DeviceID]*begun
	order    []*begun // in which the devices came
}

// begun are the runs of one device that are not over, in the order in which they began.
type begun struct {
	open []run
	last andon.Time // when the last one began
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
	if !r.close(d, start, yield) {
		return false, nil
	}
	d.open, d.last = append(d.open, next), start
	return yield(next.Item), nil
}

// end passes on what is left at the end of the file.
func (r *runs) end(yield func(ingest.Item[andon.Event]) bool) {
	for _, d := range r.order {
		if !r.close(d, andon.MaxTime, yield) {
			return
		}
	}
}

// close takes out the runs that are over at a time, and passes on what followed each.
func (r *runs) close(d *begun, at andon.Time, yield func(ingest.Item[andon.Event]) bool) bool {
	for {
		first := -1
		for i := range d.open {
			end := d.open[i].end
			if end != 0 && end <= at && (first < 0 || end < d.open[first].end) {
				first = i
			}
		}
		if first < 0 {
			return true
		}
		over := d.open[first]
		d.open = slices.Delete(d.open, first, first+1)
		goesOn := len(d.open) > first // one that began later
		endsToo := func(o run) bool { return o.end == over.end }
		if goesOn || over.end == at || slices.ContainsFunc(d.open, endsToo) {
			continue
		}
		if !yield(r.after(&over, d.open)) {
			return false
		}
	}
}

// after is what a device is in once a run is over, while others are open.
func (r *runs) after(over *run, open []run) ingest.Item[andon.Event] {
	item := ingest.Item[andon.Event]{Index: over.Index, Line: over.Line}
	if len(open) > 0 {
		item.Value = open[len(open)-1].Value
		item.Value.EscalatedTo = "" // that was said when it began
	} else {
		item.Value = andon.Event{Device: over.Value.Device, State: r.endState}
	}
	item.Value.Time = over.end
	return item
}

func (t *Table) runEntries(m *Mapping) Entries[andon.Event] {
	return func(yield func(ingest.Item[andon.Event], error) bool) {
		r := runs{endState: m.EndState, devices: map[andon.DeviceID]*begun{}}
		pass := func(item ingest.Item[andon.Event]) bool { return yield(item, nil) }
		for item, err := range entries(t, m.run) {
			next, more := item.Value, true
			next.Index, next.Line = item.Index, item.Line
			if err == nil {
				more, err = r.begin(next, pass)
				err = at(Row{Index: item.Index, Line: item.Line}, err)
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
