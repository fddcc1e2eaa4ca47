package pebblestore

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// measuring yields the devices that never had an entry and have a reading.
func (s *Store) measuring(
	ctx context.Context, t *tenant, q andon.DeviceQuery, yield func(andon.Device) bool,
) error {
	scan, err := s.readings.NewScan(ctx, t.readings)
	if err != nil {
		return err
	}
	defer scan.Close()
	yield = seq.UpTo(q.Limit, yield)
	for d, err := range s.measured(ctx, t, &q) {
		if err != nil {
			return err
		}
		if s.hasEntries(t, d.ID) {
			continue
		}
		r, err := scan.Newest(d.ID, q.MeasuredSince)
		d.Time = r.Time
		expired := d.Time == 0
		if err != nil || !expired && !yield(d) {
			return err
		}
	}
	return nil
}

// measured returns the devices that a query selects and that have days of readings, by id.
func (s *Store) measured(
	ctx context.Context, t *tenant, q *andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	from := q.Prefix
	if q.After != nil {
		from = max(from, string(q.After.Device))
	}
	return seq.Of(func(yield func(andon.Device) bool) error {
		days := layout.NewKey(layout.TableReadingDay, t.number)
		for name, err := range engine.Texts(ctx, s.db, days, from, false) {
			if err != nil || !strings.HasPrefix(name.Name, q.Prefix) {
				return err
			}
			d := andon.Device{ID: andon.DeviceID(name.Name)}
			if q.Admits(&d) && !yield(d) {
				return nil
			}
		}
		return nil
	})
}

// withMeasured yields devices that were found in memory, and among them those that are not there
// because they only send readings.
func (s *Store) withMeasured(
	ctx context.Context, t *tenant, q *andon.DeviceQuery, found []andon.Device,
	yield func(andon.Device) bool,
) error {
	measured, err := seq.Collect(seq.First(q.Limit, s.measured(ctx, t, q)))
	if err != nil {
		return err
	}
	found = append(found, measured...)
	slices.SortFunc(found, func(a, b andon.Device) int { return cmp.Compare(a.ID, b.ID) })
	found = slices.CompactFunc(found, func(a, b andon.Device) bool { return a.ID == b.ID })
	for i := range found[:min(len(found), q.Limit)] {
		if !yield(found[i]) {
			break
		}
	}
	return nil
}

func (s *Store) hasEntries(t *tenant, id andon.DeviceID) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	slot := t.fleet.Slot(id)
	if slot == nil {
		return false
	}
	d := t.fleet.Shown(slot)
	return d.Time != 0 || d.Retired != 0
}

// Names implements andon.Current. Those of people are in index rows, and with what the devices
// show.
func (s *Store) Names(
	ctx context.Context, id andon.TenantID, q andon.NameQuery,
) iter.Seq2[andon.NameCount, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.NameCount) bool) error {
		names, err := s.names(ctx, t, q)
		for _, name := range names[:min(len(names), q.Limit)] {
			if !yield(name) {
				return nil
			}
		}
		return err
	})
}

func (s *Store) names(
	ctx context.Context, t *tenant, q andon.NameQuery,
) ([]andon.NameCount, error) {
	from := q.After
	if from != "" {
		from += string(layout.AfterText)
	}
	now := map[string]int{}
	prefix := layout.NewKey(map[andon.NameKind]byte{
		andon.OperatorNames: layout.TablePosting, andon.SupervisorNames: layout.TableSupervisor,
		andon.MetricNames: layout.TableMetric,
	}[q.Of], t.number)
	switch q.Of {
	case andon.OperatorNames:
		s.tally(t, now, func(d *current.Device) (string, bool) {
			if d.AssignedFrom != 0 {
				return string(d.Assignee), d.Alive()
			}
			return string(d.Operator), d.Alive()
		})
		for _, operator := range s.log.Memory.View().Operators(t.number) {
			now[string(operator)] += 0
		}
	case andon.SupervisorNames:
		states := t.states()
		s.tally(t, now, func(d *current.Device) (string, bool) {
			return string(d.Show(states).EscalatedTo), d.Alive()
		})
	}
	left := q.Limit
	counted := q.Of == andon.MetricNames
	for name, err := range engine.Texts(ctx, s.db, prefix, from, counted) {
		if err != nil {
			return nil, err
		}
		now[name.Name] += name.Devices
		if left--; left == 0 {
			break
		}
	}
	delete(now, "")
	var all []andon.NameCount
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if name > q.After {
			all = append(all, andon.NameCount{Name: name, Devices: now[name]})
		}
	}
	return all, ctx.Err()
}

// tally counts the devices by a name of each, a part at a time, so that writers get in between.
func (s *Store) tally(
	t *tenant, now map[string]int, of func(*current.Device) (name string, counts bool),
) {
	var d current.Device
	for from, end := uint32(0), uint32(1); from < end; from += listStep {
		s.mu.RLock()
		end = t.fleet.Numbers()
		for slot := range t.fleet.Slots(from, listStep) {
			d = t.fleet.Shown(slot)
			if name, counts := of(&d); counts {
				now[name]++
			} else {
				now[name] += 0
			}
		}
		s.mu.RUnlock()
	}
}
