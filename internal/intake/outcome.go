package intake

import (
	"context"
	"iter"
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
	outcomeReaders = 8 // devices that are looked up at once
	// More entries of a device than these are read from the first to the last, unless it has far
	// more between them than were sent; fewer are looked up one by one.
	fewEntries    = 16
	readsPerEntry = 4
)

// countOutcomes adds up what count finds for each group, which is what was sent of one device.
func countOutcomes[T any](
	ctx context.Context, groups [][]T, count func(context.Context, []T) (Outcomes, error),
) (*Outcomes, error) {
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
	var groups [][]andon.Event
	for i := range events {
		if i == 0 || events[i].Device != events[i-1].Device {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], events[i])
	}
	return countOutcomes(ctx, groups,
		func(ctx context.Context, events []andon.Event) (Outcomes, error) {
			return in.deviceOutcomes(ctx, t, events)
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
	read := func(from, to andon.Time, after *andon.Event, limit int) iter.Seq2[andon.Event, error] {
		q := andon.EventQuery{
			Span: andon.Span{From: from, To: to}, Order: andon.Asc, Limit: limit,
		}
		if after != nil {
			q.After = new(after.Key(t.States))
		}
		return in.store.DeviceEvents(ctx, t.ID, sent[0].Device, q)
	}
	one := func(e *andon.Event) error {
		entry, err := in.store.Entry(ctx, t.ID, e.Device, e.Time, e.State)
		if err == nil {
			kept[e.Key(t.States)] = entry.Event
		} else if andon.KindOf(err) == andon.NotFound {
			err = nil
		}
		return err
	}
	return kept, eachKept(sent, eventTime, read, one, func(e andon.Event) {
		kept[e.Key(t.States)] = e
	})
}

func eventTime(e *andon.Event) andon.Time { return e.Time }

// eachKept passes on what a device has at the times of what was sent, which is sorted by time:
// many by read, or each by one.
func eachKept[T any](
	sent []T, at func(*T) andon.Time,
	read func(from, to andon.Time, after *T, limit int) iter.Seq2[T, error], one func(*T) error,
	put func(T),
) error {
	if len(sent) > fewEntries {
		from, to := at(&sent[0]), at(&sent[len(sent)-1])
		done, err := readSome(from, to, readsPerEntry*len(sent), read, put)
		if done || err != nil {
			return err
		}
	}
	for i := range sent {
		if err := one(&sent[i]); err != nil {
			return err
		}
	}
	return nil
}

// readSome reads pages until the end, which is done, or until it has read most.
func readSome[T any](
	from, to andon.Time, most int,
	read func(from, to andon.Time, after *T, limit int) iter.Seq2[T, error], put func(T),
) (done bool, err error) {
	var after *T
	for most > 0 {
		limit, n := min(most, andon.MaxLimit), 0
		for item, err := range read(from, to, after, limit) {
			if err != nil {
				return false, err
			}
			put(item)
			after = &item
			n++
		}
		if n < limit {
			return true, nil
		}
		most -= n
	}
	return false, nil
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
