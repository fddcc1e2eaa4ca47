package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/spell"
)

// Result accounts for every entry of a request.
type Result struct {
	Accepted int
	Rejected []andon.Rejection // by index
	Unknown  []andon.State     // of the accepted ones, those outside the tenant's set, sorted
}

// Events admits the events of one request and keeps them. When it returns without an error, what it
// says was accepted is durable. A single object that is refused is the error itself.
func (in *Intake) Events(
	ctx context.Context, tenant andon.TenantID, batch ingest.Batch[andon.Event],
) (Result, error) {
	t, err := in.store.Tenant(ctx, tenant)
	if err != nil {
		return Result{}, err
	}
	now := in.options.Now()
	a := admit(&batch)
	good, err := in.timely(&a, &t, batch.Items, now)
	if err == nil {
		good, err = in.withStates(ctx, &a, &t, good)
	}
	if err != nil {
		return a.result(), err
	}
	events := sorted(&a, good)
	if len(events) == 0 {
		return a.result(), nil
	}
	err = in.store.Append(ctx, tenant, now, events)
	if err == nil { // whether or not somebody still waits: the events are stored
		err = in.Groups.Learn(context.WithoutCancel(ctx), tenant, events)
	}
	if err != nil {
		return Result{}, err
	}
	return a.result(), nil
}

// RequestOf returns a request of entries that were not read from anything. Admission fills in what
// they lack, and leaves the slice as it is.
func RequestOf[T any](entries []T) (batch ingest.Batch[T]) {
	for i := range entries {
		batch.Items = append(batch.Items, ingest.Item[T]{Value: entries[i], Index: i})
	}
	return batch
}

// timely returns the events whose form and time are admissible, and gives a time to those that have
// none.
func (in *Intake) timely(
	a *admission[andon.Event], t *andon.Tenant, items []ingest.Item[andon.Event], now andon.Time,
) ([]*ingest.Item[andon.Event], error) {
	good := make([]*ingest.Item[andon.Event], 0, len(items))
	for i := range items {
		item := &items[i]
		e := &item.Value
		err := e.Validate()
		if e.Time == 0 {
			e.Time = in.arrival(t, now) // admissible by itself, even once the clock was set back
		} else if err == nil {
			err = t.CheckEventTime(e.Time, now)
		}
		if err != nil {
			if err := a.refuse(item, err); err != nil {
				return nil, err
			}
			continue
		}
		good = append(good, item)
	}
	return good, nil
}

// withStates returns the events whose states the tenant may have.
func (in *Intake) withStates(
	ctx context.Context, a *admission[andon.Event], t *andon.Tenant,
	items []*ingest.Item[andon.Event],
) ([]*ingest.Item[andon.Event], error) {
	outside, last := map[andon.State]bool{}, andon.State("")
	for _, item := range items {
		state := item.Value.State
		if state != last && !outside[state] && !t.States.Contains(state) {
			outside[state] = true
		}
		last = state
	}
	if len(outside) == 0 || in.store.Capabilities().Forwards != "" {
		return items, nil
	}
	asked := slices.Sorted(maps.Keys(outside))
	refused, reason := asked, notInSet
	if t.Unknown != andon.RefuseUnknown {
		var err error
		refused, err = in.store.AdmitStates(ctx, t.ID, asked, in.options.MaxStates)
		if err != nil {
			return nil, err
		}
		reason = in.tooManyStates
	}
	var err error
	good := slices.DeleteFunc(items, func(item *ingest.Item[andon.Event]) bool {
		state := item.Value.State
		_, is := slices.BinarySearch(refused, state)
		if is && err == nil {
			err = a.refuse(item, reason(t, state))
		}
		return is
	})
	a.Unknown = slices.DeleteFunc(asked, func(state andon.State) bool {
		_, is := slices.BinarySearch(refused, state)
		return is
	})
	return good, err
}

// notInSet says why a tenant that refuses states outside its set has refused one.
func notInSet(t *andon.Tenant, state andon.State) error {
	var names []string
	for _, d := range t.States.Defs() {
		names = append(names, string(d.Name))
	}
	near := spell.DidYouMean(string(state), names)
	if near == "" {
		near = ": it has " + strings.Join(names[:min(len(names), 10)], ", ")
	}
	return andon.AtField("body.state", "tenant %q has no state %q%s", t.ID, state, near)
}

func (in *Intake) tooManyStates(_ *andon.Tenant, state andon.State) error {
	return andon.AtField("body.state", "state %q is not in the tenant's set, and %d others that "+
		"are not have entries already: add it to the set, or fix what sends ever new ones "+
		"(limits.states)", state, in.options.MaxStates)
}

// sorted returns events in the order that a store takes them in, each entry once.
func sorted(
	a *admission[andon.Event], good []*ingest.Item[andon.Event],
) []andon.Event {
	slices.SortFunc(good, func(x, y *ingest.Item[andon.Event]) int {
		if c := andon.CompareInBatch(&x.Value, &y.Value); c != 0 {
			return c
		}
		return cmp.Compare(x.Index, y.Index)
	})
	events := make([]andon.Event, 0, len(good))
	for i, item := range good {
		if i > 0 && sameEntry(&events[len(events)-1], &item.Value) {
			a.again(item, good[i-1], events[len(events)-1] == item.Value)
			good[i] = good[i-1] // the first one stays the one for the entry
			continue
		}
		events = append(events, item.Value)
	}
	a.Accepted += len(events)
	return events
}

func sameEntry(x, y *andon.Event) bool {
	return x.Time == y.Time && x.Device == y.Device && x.State == y.State
}

// Readings admits the readings of one request and keeps them, as Events does. Two readings of one
// device and time in a request join, the later one's metrics replace.
func (in *Intake) Readings(
	ctx context.Context, tenant andon.TenantID, batch ingest.Batch[andon.Reading],
) (Result, error) {
	t, err := in.store.Tenant(ctx, tenant)
	if err != nil {
		return Result{}, err
	}
	now := in.options.Now()
	a := admit(&batch)
	readings, err := in.admitReadings(&a, &t, batch.Items, now)
	if err != nil || len(readings) == 0 {
		return a.result(), err
	}
	err = in.store.AppendReadings(ctx, tenant, now, readings)
	if err == nil && in.options.Measured != nil { // whether or not somebody still waits
		err = in.options.Measured(context.WithoutCancel(ctx), tenant, readings)
	}
	if err != nil {
		return Result{}, err
	}
	return a.result(), nil
}

// admitReadings returns the admissible readings in the order in which they came.
func (in *Intake) admitReadings(
	a *admission[andon.Reading], t *andon.Tenant, items []ingest.Item[andon.Reading],
	now andon.Time,
) ([]andon.Reading, error) {
	readings, metrics := make([]andon.Reading, 0, len(items)), 0
	reserved := in.store.Capabilities().ReservedMetrics
	for i := range items {
		r := &items[i].Value
		err := r.Validate()
		if err == nil && reserved != "" {
			err = checkNames(r, reserved)
		}
		if r.Time == 0 {
			r.Time = in.arrival(t, now)
		} else if err == nil {
			err = t.CheckReadingTime(r.Time, now)
		}
		if err != nil {
			if err := a.refuse(&items[i], err); err != nil {
				return nil, err
			}
			continue
		}
		if metrics += len(r.Metrics); metrics > andon.MaxRequestMetrics {
			return nil, andon.Errorf(andon.TooLarge,
				"the request has more than %d metrics: send it in parts", andon.MaxRequestMetrics)
		}
		readings = append(readings, *r)
	}
	a.Accepted = len(readings)
	return readings, nil
}

// checkNames refuses a metric that has one of the names which the store has for something else.
func checkNames(r *andon.Reading, reserved string) error {
	for name := range strings.SplitSeq(reserved, ",") {
		if _, has := r.Metrics.Get(andon.MetricName(name)); has {
			return andon.AtField("body.metrics", "no metric may be called %s: the table has an "+
				"attribute of that name", name)
		}
	}
	return nil
}

// admission accounts for the entries of one request while they are admitted.
type admission[T any] struct {
	single bool
	Result
}

func admit[T any](batch *ingest.Batch[T]) admission[T] {
	return admission[T]{single: batch.Single, Result: Result{Rejected: batch.Rejected}}
}

// refuse accounts for an entry that can't be admitted. A single object's reason is the error of the
// whole request.
func (a *admission[T]) refuse(item *ingest.Item[T], reason error) error {
	if a.single {
		if e, ok := errors.AsType[*andon.Error](reason); ok {
			return e
		}
		return reason
	}
	a.Rejected = append(a.Rejected, andon.Rejection{
		Index: item.Index, Line: item.Line, Error: reason.Error(),
	})
	return nil
}

// again accounts for an entry that is in the request twice: the same content is the same entry,
// and of two contents the second is refused, because no one could say which was meant.
func (a *admission[T]) again(item, first *ingest.Item[T], same bool) {
	if same {
		a.Accepted++
		return
	}
	place := fmt.Sprintf("entry %d", first.Index)
	if first.Line > 0 {
		place += fmt.Sprintf(" (line %d)", first.Line)
	}
	a.Rejected = append(a.Rejected, andon.Rejection{
		Index: item.Index, Line: item.Line,
		Error: "the same device, time and state as " + place +
			" of this request, with other content",
	})
}

func (a *admission[T]) result() Result {
	slices.SortFunc(a.Rejected, func(x, y andon.Rejection) int {
		return cmp.Compare(x.Index, y.Index)
	})
	return a.Result
}
