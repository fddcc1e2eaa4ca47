package andon

import (
	"context"
	"iter"
)

// Interval is one run of one state: the entries of a device in an unbroken row with the same state
// and without a retirement between.
type Interval struct {
	First EventKey // its first entry, which is also its position in the list of the device
	To    Time     // when the next run began or the device was retired; 0 for the running one
}

// within reports whether the run has an instant in the span. A run is [first, to); one of no length
// is its instant.
func (i *Interval) within(s Span) bool {
	begun := s.To == 0 || i.First.Time <= s.To
	return begun && (i.To == 0 || i.To > s.From || i.First.Time >= s.From)
}

// Intervals returns the runs of a device. The running one is what the device shows now, so it
// outlives its entries; the others come from the log, and one whose beginning has expired begins at
// its oldest entry that is left. A retirement ends a run, also where the device came back in the
// same state. The query selects those that have an instant within its span, each of them whole, and
// resumes strictly after the run that its After begins.
func Intervals(
	ctx context.Context, s interface {
		Log
		Current
	}, tenant TenantID, states *StateSet, device DeviceID, q EventQuery,
) iter.Seq2[Interval, error] {
	return func(yield func(Interval, error) bool) {
		reader := &runReader{
			ctx: ctx, log: s, tenant: tenant, states: states, device: device, query: q,
		}
		left := q.Limit
		err := reader.find(s)
		if err == nil {
			err = reader.read(func(i Interval) bool {
				if !q.States.Match(i.First.State) || !i.within(q.Span) {
					return true
				}
				left--
				return yield(i, nil) && left > 0
			})
		}
		if err != nil {
			yield(Interval{}, err)
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
	query   EventQuery
	running *EventKey // the first entry of the running run; nil where there is none
	retired []Time    // when the device was retired, ascending
}

// find reads what the device shows, and when it was retired.
func (r *runReader) find(s Current) (err error) {
	if r.retired, err = s.Retirements(r.ctx, r.tenant, r.device); err != nil {
		return err
	}
	d, err := s.Device(r.ctx, r.tenant, r.device)
	if err == nil {
		r.running = &EventKey{Time: d.Since, Severity: d.Severity, State: d.State, Device: d.ID}
	} else if KindOf(err) == NotFound {
		err = nil
	}
	return err
}

// read yields the runs from the one that holds the beginning of the query's span, in its order, or
// from after its position, to the one that holds the end. Runs next to the span may be among them.
func (r *runReader) read(yield func(Interval) bool) error {
	if r.query.Order == Asc {
		return r.forward(yield)
	}
	return r.backward(yield)
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

// goesOn reports whether a run that has an entry goes on with the next entry.
func (r *runReader) goesOn(entry, next EventKey) bool {
	return entry.State == next.State && r.end(entry.Time, next.Time) == next.Time
}

func (r *runReader) isRunning(k EventKey) bool {
	return r.running != nil && k.Compare(*r.running) >= 0
}

// keys returns the keys of entries.
func (r *runReader) keys(span Span, order Order, after *EventKey) iter.Seq2[EventKey, error] {
	q := EventQuery{Span: span, Order: order, After: after}
	return func(yield func(EventKey, error) bool) {
		for e, err := range Entries(r.ctx, r.log, r.tenant, r.states, r.device, q) {
			if !yield(e.Key(r.states), err) {
				return
			}
		}
	}
}

// backward yields the runs newest first.
func (r *runReader) backward(yield func(Interval) bool) (err error) {
	q := &r.query
	var span Span
	var next Time // when the run began that follows the one that is read
	after := q.After
	switch {
	case after != nil:
		next = after.Time
	case r.running != nil && (q.Span.To == 0 || r.running.Time <= q.Span.To):
		if !yield(Interval{First: *r.running}) {
			return nil
		}
		after, next = r.running, r.running.Time
	case q.Span.To != 0:
		span.To = q.Span.To
		if next, err = r.nextRun(span.To); err != nil {
			return err
		}
	}
	var open *Interval
	for k, err := range r.keys(span, Desc, after) {
		if err != nil {
			return err
		}
		if open != nil && r.goesOn(k, open.First) {
			open.First = k
			continue
		}
		if open != nil {
			if next = open.First.Time; !yield(*open) {
				return nil
			}
		}
		if next != 0 && next < q.Span.From { // it ended before the span began
			return nil
		}
		open = &Interval{First: k, To: r.end(k.Time, next)}
	}
	if open != nil {
		yield(*open)
	}
	return nil
}

// nextRun returns when the run that holds at is followed by another; 0 when none follows.
func (r *runReader) nextRun(at Time) (Time, error) {
	var last *EventKey
	for k, err := range r.keys(Span{To: at}, Desc, nil) {
		if err != nil {
			return 0, err
		}
		last = &k
		break
	}
	if last == nil {
		return 0, nil
	}
	for k, err := range r.keys(Span{From: last.Time}, Asc, last) {
		if err != nil || r.isRunning(k) || !r.goesOn(*last, k) {
			return k.Time, err
		}
		last = &k
	}
	return 0, nil
}

// forward yields the runs oldest first.
func (r *runReader) forward(yield func(Interval) bool) (err error) {
	q := &r.query
	first, span := q.After, Span{From: q.Span.From} // first is of the run that is read
	switch {
	case first != nil && r.isRunning(*first):
		return nil
	case first == nil && r.running != nil && r.running.Time <= span.From:
		yield(Interval{First: *r.running})
		return nil
	case first == nil:
		if first, err = r.runStart(span.From); err != nil {
			return err
		}
	}
	if first != nil {
		span.From = first.Time
	}
	last := first
	ends := func(next Time) bool { // reports whether more is wanted
		return first == nil || first == q.After || yield(Interval{*first, r.end(last.Time, next)})
	}
	for k, err := range r.keys(span, Asc, first) {
		if err != nil {
			return err
		}
		if r.isRunning(k) {
			break
		}
		if last != nil && r.goesOn(*last, k) {
			last = &k
			continue
		}
		if !ends(k.Time) || q.Span.To != 0 && k.Time > q.Span.To {
			return nil
		}
		first, last = &k, &k
	}
	if r.running == nil {
		ends(0)
	} else if ends(r.running.Time) {
		yield(Interval{First: *r.running})
	}
	return nil
}

// runStart returns the first entry of the run that holds at; nil when there is none before it.
func (r *runReader) runStart(at Time) (first *EventKey, err error) {
	if at == 0 {
		return nil, nil
	}
	for k, err := range r.keys(Span{To: at - 1}, Desc, nil) {
		if err != nil || first != nil && !r.goesOn(k, *first) {
			return first, err
		}
		first = &k
	}
	return first, nil
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
