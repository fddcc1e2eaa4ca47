package readings

import (
	"cmp"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Latest returns the newest readings of devices from a time on, in the order in which the devices
// are first named.
func (s *Scan) Latest(devices []andon.DeviceID, from andon.Time) ([]andon.Reading, error) {
	// They are read in the order in which they are stored.
	stored := make([]int, len(devices))
	for i := range stored {
		stored[i] = i
	}
	slices.SortFunc(stored, func(a, b int) int {
		if c := cmp.Compare(devices[a], devices[b]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	latest := make([]andon.Reading, len(devices))
	last := andon.DeviceID("")
	for _, i := range stored {
		if devices[i] == last {
			continue
		}
		last = devices[i]
		var err error
		if latest[i], err = s.Newest(last, from); err != nil {
			return nil, err
		}
	}
	none := func(r andon.Reading) bool { return r.Device == "" }
	return slices.DeleteFunc(latest, none), nil
}

// MetricDevices returns the devices that ever had a metric, from the query's position on, in
// ascending order.
func (s *Scan) MetricDevices(q andon.MetricQuery) iter.Seq2[andon.DeviceID, error] {
	prefix := layout.NewKey(layout.TableMetric, s.tenant).Text(string(q.Metric))
	from, end := []byte(prefix), prefix.End()
	if q.After != nil {
		from = prefix.Text(string(q.After.Device))
	}
	return seq.Of(func(yield func(andon.DeviceID) bool) error {
		it, err := engine.NewIterator(s.ctx, s.db, from, end)
		if err != nil {
			return err
		}
		defer it.Release()
		for ok := it.First(); ok; ok = it.Next() {
			device, _, ok := layout.TakeText(it.Key()[len(prefix):])
			if !ok {
				return layout.ErrDamaged
			}
			if !yield(andon.DeviceID(device)) {
				return nil
			}
		}
		return it.Error()
	})
}
