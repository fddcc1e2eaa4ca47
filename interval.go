package andon

import (
	"context"
	"iter"
)

// IntervalPosition is the position of a run in the list of a device: its first entry.
type IntervalPosition struct {
	First EventKey
}

// PositionedInterval is a run and its position.
type PositionedInterval struct {
	Interval
	Position IntervalPosition
}

// IntervalQuery selects runs of one state: those that have an instant within Span. A run that
// begins before the span or ends after it is given whole.
type IntervalQuery struct {
	States StateFilter
	Span   Span
	Order  Order
	After  *IntervalPosition // resume strictly after this run, in Order; nil from the start
	Limit  int               // at most so many; must be above 0
}

// run is one run while it is being read.
type run struct {
	first EventKey
	last  Time // its newest entry, as far as it was read
	to    Time // when it ended; 0 for the running one
}

// within reports whether the run has an instant in the span. A run is [first, to); one of no length
// is its instant.
func (r run) within(s Span) bool {
	begun := s.To == 0 || r.first.Time <= s.To
	return begun && (r.to == 0 || r.to > s.From || r.first.Time >= s.From)
}

func (r run) positioned() PositionedInterval {
	return PositionedInterval{
		Interval: Interval{State: r.first.State, From: r.first.Time, To: r.to},
		Position: IntervalPosition{First: r.first},
	}
}

// Intervals returns the runs of a device. The running one is what the device shows now, so it
// outlives its entries; the others come from the log, and one whose beginning has expired begins at
// its oldest entry that is left. A retirement ends a run, also where the device came back in the
// same state.
func Intervals(
	ctx context.Context, s interface {
		Log
		Current
	}, tenant TenantID, states *StateSet, device DeviceID, q IntervalQuery,
) iter.Seq2[PositionedInterval, error] {
	return func(yield func(PositionedInterval, error) bool) {
		retired, err := s.Retirements(ctx, tenant, device)
		if err != nil {
			yield(PositionedInterval{}, err)
			return
		}
		reader := &runReader{
			ctx: ctx, log: s, tenant: tenant, states: states, device: device, retired: retired,
		}
		d, err := s.Device(ctx, tenant, device)
		if err == nil {
			key := EventKey{Time: d.Since, Severity: d.Severity, State: d.State, Device: device}
			reader.running = &key
		} else if KindOf(err) != NotFound {
			yield(PositionedInterval{}, err)
			return
		}
		runs := reader.newestFirst
		if q.Order == Asc {
			runs = reader.oldestFirst
		}
		left := q.Limit
		for r, err := range runs(q.Span, q.After) {
			if err != nil {
				yield(PositionedInterval{}, err)
				return
			}
			if !q.States.Match(r.first.State) || !r.within(q.Span) {
				continue
			}
			if left--; left < 0 || !yield(r.positioned(), nil) {
				return
			}
		}
	}
}

// runReader joins the entries of one device into runs.
type runReader struct {
	ctx     context.Context
	log     Log
	tenant  TenantID
	states  *StateSet
	device  DeviceID
	running *EventKey // the first entry of the running run; nil where there is none
	retired []Time    // when the device was retired, ascending
}

// end returns when a run ended whose newest entry was at last, and after which another entry is at
// next, 0 where there is none: at the next entry, unless the device was retired before.
func (r *runReader) end(last, next Time) Time {
	for _, at := range r.retired {
		if at >= last && (next == 0 || at < next) {
			return at
		}
	}
	return next
}

// goesOn reports whether a run that has an entry at last goes on with k, which is the next one.
func (r *runReader) goesOn(state State, last Time, k EventKey) bool {
	return k.State == state && r.end(last, k.Time) == k.Time
}

func (r *runReader) entries(span Span, order Order, after *EventKey) iter.Seq2[EventKey, error] {
	q := EventQuery{Span: span, Order: order, After: after}
	return EntryKeys(r.ctx, r.log, r.tenant, r.states, r.device, q)
}

// Entries returns the entries of a device that a query selects, page by page without end: the query
// needs no limit.
func Entries(
	ctx context.Context, log Log, tenant TenantID, states *StateSet, device DeviceID, q EventQuery,
) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		q := q
		q.Limit = 256 // entries may be large
		for {
			n := 0
			var last EventKey
			for e, err := range log.DeviceEvents(ctx, tenant, device, q) {
				n, last = n+1, e.Key(states)
				if !yield(e, err) || err != nil {
					return
				}
			}
			if n < q.Limit {
				return
			}
			q.After = &last
		}
	}
}

// EntryKeys returns the keys of what Entries returns.
func EntryKeys(
	ctx context.Context, log Log, tenant TenantID, states *StateSet, device DeviceID, q EventQuery,
) iter.Seq2[EventKey, error] {
	return func(yield func(EventKey, error) bool) {
		for e, err := range Entries(ctx, log, tenant, states, device, q) {
			if !yield(e.Key(states), err) {
				return
			}
		}
	}
}

func (r *runReader) isRunning(k EventKey) bool {
	return r.running != nil && k.Compare(*r.running) >= 0
}

// newestFirst returns the runs from the one that holds the span's end, or from after a position,
// back to the one that holds the span's beginning.
func (r *runReader) newestFirst(span Span, resume *IntervalPosition) iter.Seq2[run, error] {
	return func(yield func(run, error) bool) {
		var after *EventKey
		var to Time
		switch {
		case resume != nil:
			after, to, span.To = &resume.First, resume.First.Time, 0
		case r.running != nil && (span.To == 0 || r.running.Time <= span.To):
			if !yield(run{first: *r.running}, nil) {
				return
			}
			after, to, span.To = r.running, r.running.Time, 0
		case span.To != 0:
			next, err := r.nextRun(span.To)
			if err != nil {
				yield(run{}, err)
				return
			}
			to = next
		}
		r.backward(span, after, to, yield)
	}
}

// backward returns the runs before a key, the first of which ends at to.
func (r *runReader) backward(span Span, after *EventKey, to Time, yield func(run, error) bool) {
	var open *run
	for k, err := range r.entries(Span{To: span.To}, Desc, after) {
		if err != nil {
			yield(run{}, err)
			return
		}
		if open != nil && r.goesOn(k.State, k.Time, open.first) {
			open.first = k
			continue
		}
		if open != nil {
			if to = open.first.Time; !yield(*open, nil) {
				return
			}
		}
		if to != 0 && to < span.From { // it ended before the span began
			return
		}
		open = &run{first: k, to: r.end(k.Time, to)}
	}
	if open != nil {
		yield(*open, nil)
	}
}

// nextRun returns when the run that holds at is followed by another; 0 when none follows.
func (r *runReader) nextRun(at Time) (Time, error) {
	var holds *EventKey
	for k, err := range r.entries(Span{To: at}, Desc, nil) {
		if err != nil {
			return 0, err
		}
		holds = &k
		break
	}
	if holds == nil {
		return 0, nil
	}
	last := holds.Time
	for k, err := range r.entries(Span{From: holds.Time}, Asc, holds) {
		if err != nil {
			return 0, err
		}
		if !r.goesOn(holds.State, last, k) || r.isRunning(k) {
			return k.Time, nil
		}
		last = k.Time
	}
	return 0, nil
}

// oldestFirst returns the runs from the one that holds the span's beginning, or from after a
// position, to the one that holds the span's end.
func (r *runReader) oldestFirst(span Span, resume *IntervalPosition) iter.Seq2[run, error] {
	return func(yield func(run, error) bool) {
		switch {
		case resume != nil && r.isRunning(resume.First):
			return
		case resume == nil && r.running != nil && r.running.Time <= span.From:
			yield(run{first: *r.running}, nil)
			return
		}
		var after *EventKey
		var from Time
		if resume != nil {
			after, from = &resume.First, resume.First.Time
		} else {
			first, err := r.runStart(span.From)
			if err != nil {
				yield(run{}, err)
				return
			}
			from = first
		}
		r.forward(span, from, after, yield)
	}
}

// forward returns the runs from a time on, or after the run that begins with after.
func (r *runReader) forward(span Span, from Time, after *EventKey, yield func(run, error) bool) {
	var open *run
	for k, err := range r.entries(Span{From: from}, Asc, after) {
		if err != nil {
			yield(run{}, err)
			return
		}
		if r.isRunning(k) {
			break
		}
		if after != nil && r.goesOn(after.State, after.Time, k) {
			after = &k // the rest of the run that was returned already
			continue
		}
		after = nil
		if open != nil && r.goesOn(open.first.State, open.last, k) {
			open.last = k.Time
			continue
		}
		if open != nil {
			if open.to = r.end(open.last, k.Time); !yield(*open, nil) {
				return
			}
		}
		if span.To != 0 && k.Time > span.To {
			return
		}
		open = &run{first: k, last: k.Time}
	}
	var next Time
	if r.running != nil {
		next = r.running.Time
	}
	if open != nil {
		if open.to = r.end(open.last, next); !yield(*open, nil) {
			return
		}
	}
	if r.running != nil {
		yield(run{first: *r.running}, nil)
	}
}

// runStart returns when the run that holds at began; at itself when there is none before it.
func (r *runReader) runStart(at Time) (Time, error) {
	start, held := at, EventKey{}
	if at == 0 {
		return 0, nil
	}
	for k, err := range r.entries(Span{To: at - 1}, Desc, nil) {
		if err != nil {
			return 0, err
		}
		if held.State != "" && !r.goesOn(k.State, k.Time, held) {
			return start, nil
		}
		start, held = k.Time, k
	}
	return start, nil
}
