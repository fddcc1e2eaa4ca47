package entries

import (
	"iter"
	"math"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// The entries of all devices have no order of their own on the disk: blocks are sorted by day and
// device. So they are read a day at a time, and of a day a window at a time: as many entries as are
// wanted, from where the last window ended. A window looks at each device of the day, and opens
// only what can still be among the first entries of the window: once there are enough, that is the
// time up to the last of them, which grows shorter as more devices are looked at. A device whose
// newest entry is before that time is not looked for at all; so the newest entries of a fleet are
// found without reading blocks, or few.

const (
	// windowEntries is how many entries a window has at most, and about half of what it holds.
	windowEntries = 16_384
	// windowBytes is how much text it holds at most, in addition to that of one device.
	windowBytes = 16 << 20
)

// Tenant returns the entries of all devices that a query selects, window by window.
func (r *Reader) Tenant(q andon.EventQuery) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		left := q.Limit
		for {
			day, ok, err := r.nextDay(&q)
			var w window
			if err == nil && ok {
				w, err = r.window(day, q, min(left, windowEntries))
			}
			if err != nil {
				yield(Hit{}, err)
				return
			}
			for i := range w.hits {
				if left--; !yield(w.hits[i], nil) || left == 0 {
					return
				}
			}
			switch n := len(w.hits); {
			case !ok, w.whole && !passDay(&q, day):
				return
			case !w.whole:
				q.After = new(w.hits[n-1].Key())
			}
		}
	}
}

// passDay makes a query begin after a day; false: there is nothing after it.
func passDay(q *andon.EventQuery, day uint32) bool {
	if q.Order == andon.Asc {
		q.Span = q.Span.Since(andon.DayStart(day + 1))
	} else if day == 0 {
		return false
	} else {
		q.Span = q.Span.Until(andon.DayStart(day) - 1)
	}
	return !q.Span.Empty()
}

// nextDay returns the first day, in the query's order, on which there may be entries.
func (r *Reader) nextDay(q *andon.EventQuery) (day uint32, ok bool, err error) {
	if err := r.open(); err != nil {
		return 0, false, err
	}
	span := q.Rest()
	first, last := span.From.Day(), andon.Earlier(span.To, andon.MaxTime).Day()
	days := slices.Concat(r.memory.Days(r.tenant.Number), r.blocks.RunDays())
	for _, is := range days {
		sooner := !ok || (q.Order == andon.Asc) == (is < day)
		if is >= first && is <= last && sooner {
			day, ok = is, true
		}
	}
	return day, ok, nil
}

// window is the first entries of a day.
type window struct {
	reader *Reader
	query  andon.EventQuery // its span narrows
	most   int
	hits   []Hit
	bytes  int
	whole  bool // there are no more on that day
}

func (r *Reader) window(day uint32, q andon.EventQuery, most int) (window, error) {
	q.Span = q.Span.Since(andon.DayStart(day)).Until(andon.DayStart(day+1) - 1)
	w := window{reader: r, query: q, most: most, whole: true}
	if err := w.addMemory(); err != nil {
		return w, err
	}
	if err := w.addBlocks(day); err != nil {
		return w, err
	}
	w.narrow()
	return w, r.escalateEach(w.hits)
}

// device returns a device by its number, unless it can have no entry that is wanted any more: no
// entry of a device is newer than what it shows. A device that was purged has no number.
func (w *window) device(number uint32) (d deviceLog, ok bool) {
	r := w.reader
	r.shown.Lock()
	defer r.shown.Unlock()
	slot := r.fleet.Numbered(number)
	if slot == nil {
		return d, false
	}
	is := r.fleet.Shown(slot)
	return r.numbered(is.ID, number), is.Time >= w.query.Rest().From
}

func (w *window) addMemory() error {
	for number := range uint32(w.reader.memory.Count(w.reader.tenant.Number)) {
		if err := w.reader.ctx.Err(); err != nil {
			return err
		}
		if d, ok := w.device(number); ok {
			w.add(w.reader.takeMemory(nil, &d, &w.query, math.MaxInt))
		}
	}
	return nil
}

// addBlocks goes through the runs of a day.
func (w *window) addBlocks(day uint32) error {
	for run := range w.reader.blocks.Runs(day, w.query.Order) {
		if run.Meets(w.query.Rest()) {
			if err := w.addRun(day, run.RunID); err != nil {
				return err
			}
		}
	}
	return nil
}

// addRun goes through the blocks of a run, device by device, those of each from the newest on.
func (w *window) addRun(day uint32, id layout.RunID) error {
	var d deviceLog
	wanted := false
	last := uint32(math.MaxUint32)
	return w.reader.blocks.Run(day, id, func(at *layout.BlockKey) (more bool, err error) {
		number, rest, ok := layout.TakeNumber(at.Device)
		if !ok || len(rest) > 0 {
			return false, layout.ErrDamaged
		}
		if number != last {
			last = number
			d, wanted = w.device(number)
		}
		span := w.query.Rest()
		if !wanted || at.Newest < span.From { // as are all after it
			return false, nil
		}
		if span.To == 0 || at.Oldest <= span.To {
			hits, err := w.reader.openBlock(nil, &d, at.BlockSpan, &w.query, w.most)
			if err != nil {
				return false, err
			}
			w.add(hits)
		}
		return true, nil
	})
}

// add adds entries, and narrows the window once it holds twice as many as are wanted, or too much
// text.
func (w *window) add(hits []Hit) {
	w.hits = append(w.hits, hits...)
	for i := range hits {
		w.bytes += len(hits[i].Event.Message) + len(hits[i].Event.Attributes)
	}
	for len(w.hits)/2 >= w.most || w.bytes > windowBytes && len(w.hits) > 1 {
		if w.bytes > windowBytes {
			w.most = min(w.most, max(len(w.hits)/2, 1))
		}
		if !w.narrow() {
			return
		}
	}
}

// narrow keeps the first entries, and reports whether that was fewer than all: then nothing after
// the last of them is wanted any more.
func (w *window) narrow() (less bool) {
	before := len(w.hits)
	w.hits = firstHits(w.hits, w.query.Order, w.most)
	n := len(w.hits)
	clear(w.hits[n:before]) // their texts
	w.bytes = 0
	for i := range w.hits {
		w.bytes += len(w.hits[i].Event.Message) + len(w.hits[i].Event.Attributes)
	}
	if n == w.most && n > 0 {
		w.whole = false
		w.query.Span = layout.Until(w.query.Span, w.hits[n-1].Event.Time, w.query.Order)
	}
	return n < before
}
