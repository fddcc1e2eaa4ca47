package shared

import (
	"cmp"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// eventsAtOnce is how many events of a request are written together. It bounds the time from
// reading a device to the end of writing to it.
const eventsAtOnce = 2000

// Parts divides the events of a request into parts that are written one after the other. They are
// in the order of their devices, and no device is divided, so a part may be larger than others.
func Parts(events []andon.Event) iter.Seq[[]andon.Event] {
	return func(yield func([]andon.Event) bool) {
		for len(events) > 0 {
			n := min(len(events), eventsAtOnce)
			for n < len(events) && events[n].Device == events[n-1].Device {
				n++
			}
			if !yield(events[:n:n]) {
				return
			}
			events = events[n:]
		}
	}
}

// Runs divides items into those that follow each other and are the same.
func Runs[T any](items []T, same func(a, b *T) bool) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for len(items) > 0 {
			n := 1
			for n < len(items) && same(&items[0], &items[n]) {
				n++
			}
			if !yield(items[:n:n]) {
				return
			}
			items = items[n:]
		}
	}
}

// ByDevice divides items, which are in the order of their devices, into those of each device.
func ByDevice[T any](items []T, device func(*T) *andon.DeviceID) iter.Seq[[]T] {
	return Runs(items, func(a, b *T) bool { return *device(a) == *device(b) })
}

// OfEvent returns the device of an event, for ByDevice.
func OfEvent(e *andon.Event) *andon.DeviceID { return &e.Device }

// JoinReading joins a later message of one device and time into a reading.
func JoinReading(r *andon.Reading, later *andon.Reading) {
	r.Metrics, r.Metadata = r.Metrics.Join(later.Metrics), cmp.Or(later.Metadata, r.Metadata)
}

// JoinReadings sorts readings, and joins those of one device and time: the metrics of a later one
// replace those of an earlier.
func JoinReadings(
	readings []andon.Reading, compare func(a, b andon.Reading) int,
) []andon.Reading {
	sorted := slices.Clone(readings)
	slices.SortStableFunc(sorted, compare)
	joined := sorted[:0]
	for _, r := range sorted {
		last := len(joined) - 1
		if last >= 0 && joined[last].Device == r.Device && joined[last].Time == r.Time {
			JoinReading(&joined[last], &r)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// Measured returns the readings that a query selects by its metrics, with those alone.
func Measured(
	q andon.ReadingQuery, all iter.Seq2[andon.Reading, error],
) iter.Seq2[andon.Reading, error] {
	return seq.Of(func(yield func(andon.Reading) bool) error {
		yield = seq.UpTo(q.Limit, yield)
		for r, err := range all {
			r.Metrics = r.Metrics.Only(q.Metrics)
			wanted := len(q.Metrics) == 0 || len(r.Metrics) > 0
			if err != nil || wanted && !yield(r) {
				return err
			}
		}
		return nil
	})
}

// CompareEscalations orders the escalations of one entry, the newest first; of two at one time the
// one whose supervisor comes first.
func CompareEscalations(a, b andon.Escalation) int {
	return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.To, b.To))
}
