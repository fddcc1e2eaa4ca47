package intake

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/parallel"
)

// Outcomes tell accepted entries apart by what the store had before. They cost reads, so they are
// counted only for a request that asks for them. Next to other requests that write the same entries
// they are what was seen a moment before.
type Outcomes struct {
	New       int // there was no such entry
	Unchanged int // there was, and it said the same
	Replaced  int // there was, and it said something else
}

const (
	outcomeReaders = 8  // devices that are looked up at once
	outcomePage    = 64 // entries that are read at once
)

// countOutcomes adds up what count finds for what was sent of each device.
func countOutcomes[T any](
	ctx context.Context, sent []T, device func(*T) andon.DeviceID,
	count func(context.Context, []T) (Outcomes, error),
) (*Outcomes, error) {
	by := map[andon.DeviceID][]T{}
	for i := range sent {
		id := device(&sent[i])
		by[id] = append(by[id], sent[i])
	}
	groups := slices.Collect(maps.Values(by))
	var mu sync.Mutex
	all := &Outcomes{}
	add := func(ctx context.Context, i int) error {
		found, err := count(ctx, groups[i])
		mu.Lock()
		defer mu.Unlock()
		all.New += found.New
		all.Unchanged += found.Unchanged
		all.Replaced += found.Replaced
		return err
	}
	return all, parallel.Do(ctx, len(groups), outcomeReaders, add)
}

// eventOutcomes counts events that are about to be appended, in the order of CompareInBatch.
func (in *Intake) eventOutcomes(
	ctx context.Context, t *andon.Tenant, events []andon.Event,
) (*Outcomes, error) {
	return countOutcomes(ctx, events, func(e *andon.Event) andon.DeviceID { return e.Device },
		func(ctx context.Context, sent []andon.Event) (Outcomes, error) {
			return in.deviceOutcomes(ctx, t, sent)
		})
}

func (in *Intake) deviceOutcomes(
	ctx context.Context, t *andon.Tenant, events []andon.Event,
) (o Outcomes, err error) {
	older := events
	d, err := in.store.Device(ctx, t.ID, events[0].Device)
	switch {
	case err == nil:
		for len(older) > 0 && older[len(older)-1].Time > d.Time { // so the device has none there
			older = older[:len(older)-1]
		}
	case andon.KindOf(err) != andon.NotFound: // never seen, or retired
		return o, err
	}
	o.New = len(events) - len(older)
	if len(older) == 0 {
		return o, nil
	}
	older = slices.Clone(older)
	if err := in.resolve(ctx, t.ID, older); err != nil {
		return o, err
	}
	kept, err := in.keptEvents(ctx, t, older)
	if err != nil {
		return o, err
	}
	for i := range older {
		before, there := kept[older[i].Key(t.States)]
		same := there
		if there {
			if same, err = in.saysTheSame(ctx, t.ID, &older[i], &before); err != nil {
				return o, err
			}
		}
		o.count(there, same)
	}
	return o, nil
}

// resolve sets the operator of each event of a device that names none, as the store is going to.
func (in *Intake) resolve(
	ctx context.Context, tenant andon.TenantID, events []andon.Event,
) error {
	for len(events) > 0 && events[len(events)-1].Operator != "" {
		events = events[:len(events)-1]
	}
	const page = 100
	q := andon.PageQuery{Order: andon.Desc, Limit: page}
	for n := page; n == page && len(events) > 0; {
		n, q.After = 0, events[len(events)-1].Time+1
		for a, err := range in.store.Assignments(ctx, tenant, events[0].Device, q) {
			if err != nil {
				return err
			}
			n++
			for i := len(events) - 1; i >= 0 && events[i].Time >= a.From; i-- {
				if events[i].Operator == "" {
					events[i].Operator = a.Operator
				}
				events = events[:i]
			}
		}
	}
	return nil
}

func (o *Outcomes) count(there, same bool) {
	switch {
	case !there:
		o.New++
	case same:
		o.Unchanged++
	default:
		o.Replaced++
	}
}

// keptEvents returns the entries that are there of those that were sent of a device, and others.
func (in *Intake) keptEvents(
	ctx context.Context, t *andon.Tenant, sent []andon.Event,
) (map[andon.EventKey]andon.Event, error) {
	kept := make(map[andon.EventKey]andon.Event, len(sent))
	q := andon.EventQuery{Order: andon.Asc}
	return kept, eachKept(sent, func(e *andon.Event) andon.Time { return e.Time },
		func(span andon.Span, limit int) iter.Seq2[andon.Event, error] {
			q.Span, q.Limit = span, limit
			return in.store.DeviceEvents(ctx, t.ID, sent[0].Device, q)
		}, func(e andon.Event) {
			kept[e.Key(t.States)], q.After = e, new(e.Key(t.States))
		})
}

// eachKept passes on what a device has at the times of what was sent, which is sorted by time, and
// some of what it has between them. Each page begins at the next of these times, so what lies
// between two that are far apart is not read. read goes on after what was passed on last.
func eachKept[T any](
	sent []T, at func(*T) andon.Time, read func(andon.Span, int) iter.Seq2[T, error], put func(T),
) error {
	for len(sent) > 0 {
		span := andon.Span{From: at(&sent[0]), To: at(&sent[len(sent)-1])}
		limit, n := min(len(sent), outcomePage), 0
		for item, err := range read(span, limit) {
			if err != nil {
				return err
			}
			put(item)
			span.From, n = at(&item), n+1
		}
		if n < limit {
			return nil
		}
		for len(sent) > 0 && at(&sent[0]) < span.From {
			sent = sent[1:]
		}
	}
	return nil
}

// saysTheSame reports whether an event that is sent says what its entry says already. An escalation
// that the entry does not show may still be on its record, where it was withdrawn since.
func (in *Intake) saysTheSame(
	ctx context.Context, tenant andon.TenantID, sent, kept *andon.Event,
) (bool, error) {
	x, y := *sent, *kept
	x.EscalatedTo, y.EscalatedTo = "", ""
	if x != y {
		return false, nil
	}
	if sent.EscalatedTo == "" || sent.EscalatedTo == kept.EscalatedTo {
		return true, nil
	}
	entry, err := in.store.Entry(ctx, tenant, sent.Device, sent.Time, sent.State)
	if err != nil && andon.KindOf(err) != andon.NotFound {
		return false, err
	}
	for _, e := range entry.Escalations {
		if e.At == sent.Time && e.To == sent.EscalatedTo {
			return true, nil
		}
	}
	return false, nil
}
