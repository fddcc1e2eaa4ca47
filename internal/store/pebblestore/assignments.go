package pebblestore

import (
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Assign implements andon.Assignments.
func (s *Store) Assign(
	ctx context.Context, id andon.TenantID, now andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	t, err := s.writable(ctx, id)
	if err != nil || len(assignments) == 0 {
		return nil, err
	}
	devices, of := devicesOf(assignments)
	kept := slices.Clone(assignments)
	bytes := 64*len(assignments) + 256
	err = s.change(ctx, t, andon.ByAssignment, devices, bytes, func(w *writing) {
		w.fold = func(i int, d *current.Device) error {
			for _, n := range of[devices[i]] { // a device may be assigned more than once
				kept[n].Operator = retain(kept[n].Operator, d.Assignee)
				if err := d.Assign(&kept[n], now); err != nil {
					return err
				}
			}
			return nil
		}
		w.rows = func() { w.assignments(kept) }
	})
	return kept, err
}

// devicesOf returns the devices that are assigned, each once, and which assignments are theirs.
func devicesOf(assignments []andon.Assignment) ([]andon.DeviceID, map[andon.DeviceID][]int) {
	var devices []andon.DeviceID
	of := map[andon.DeviceID][]int{}
	for n, a := range assignments {
		if len(of[a.Device]) == 0 {
			devices = append(devices, a.Device)
		}
		of[a.Device] = append(of[a.Device], n)
	}
	return devices, of
}

// assignments puts the rows of assignments into the batch, now that it is known from when they are.
func (w *writing) assignments(kept []andon.Assignment) {
	for _, a := range kept {
		if !a.Again {
			w.key = w.key.Begin(layout.TableAssignment, w.tenant.number).
				Text(string(a.Device)).InvertedTime(a.From)
			w.batch.Put(w.key, []byte(a.Operator))
		}
	}
}

// Assignments implements andon.Assignments.
func (s *Store) Assignments(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Assignment) bool) error {
		return s.assignments(ctx, t, device, q, seq.UpTo(q.Limit, yield))
	})
}

// assignments yields the assignments of a device that a query selects, each with the time of the
// next one.
func (s *Store) assignments(
	ctx context.Context, t *tenant, device andon.DeviceID, q andon.PageQuery,
	yield func(andon.Assignment) bool,
) error {
	prefix := layout.NewKey(layout.TableAssignment, t.number).Text(string(device))
	from, end := prefix, prefix.End()
	switch {
	case q.After == 0:
	case q.Order == andon.Desc:
		from = prefix.InvertedTime(q.After - 1)
	default: // with the one at that time
		end = prefix.InvertedTime(q.After - 1)
	}
	keys := andon.Asc // the newest comes first
	if q.Order == andon.Asc {
		keys = andon.Desc
	}
	stored := seq.Of(func(yield func(andon.Assignment) bool) error {
		for it, err := range engine.RowsBetween(ctx, s.db, from, end, keys) {
			if err != nil {
				return err
			}
			from, rest, ok := layout.TakeInvertedTime(it.Key()[len(prefix):])
			if !ok || len(rest) != 0 {
				return layout.ErrDamaged
			}
			value, err := it.ValueAndErr()
			a := andon.Assignment{Device: device, Operator: andon.PersonID(value), From: from}
			if err != nil || !yield(a) {
				return err
			}
		}
		return nil
	})
	if q.Order == andon.Desc {
		return newestFirst(stored, q.After, yield)
	}
	return oldestFirst(stored, q.After, yield)
}

// newestFirst joins neighbours with one operator: they are one assignment, from the
// oldest on.
func newestFirst(
	stored iter.Seq2[andon.Assignment, error], to andon.Time, yield func(andon.Assignment) bool,
) error {
	var held *andon.Assignment // waits for the one before it
	for a, err := range stored {
		if err == nil && held != nil && held.Operator == a.Operator {
			held.From = a.From
			continue
		}
		if held != nil {
			to = held.From
		}
		if held != nil && !yield(*held) || err != nil {
			return err
		}
		a.To, held = to, &a
	}
	if held != nil {
		yield(*held)
	}
	return nil
}

// oldestFirst does the same from the other end. The first may be that of a page before, which says
// the operator there.
func oldestFirst(
	stored iter.Seq2[andon.Assignment, error], after andon.Time,
	yield func(andon.Assignment) bool,
) error {
	var held *andon.Assignment // waits for the one after it
	show := func() bool { return held == nil || held.From <= after || yield(*held) }
	for a, err := range stored {
		if err == nil && held != nil && held.Operator == a.Operator {
			continue
		}
		if held != nil {
			held.To = a.From
		}
		if !show() || err != nil {
			return err
		}
		held = &a
	}
	show()
	return nil
}
