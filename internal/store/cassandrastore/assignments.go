package cassandrastore

import (
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
)

const assignmentColumns = "SELECT since, operator FROM assignments_by_device " +
	"WHERE tenant = ? AND device = ? AND since >= ? AND since <= ?"

var (
	assignmentsDown = question{assignmentColumns, 2}
	assignmentsUp   = question{assignmentColumns + " ORDER BY since ASC", 2}
)

// ordersInBatch keeps a logged batch below the 50 KiB that Cassandra refuses, with the longest ids.
const ordersInBatch = 40

// Assign is of andon.Assignments. Assignments of several devices are written by logged batches, so
// that each batch is kept as a whole once Cassandra has it; more than twenty are several
// batches.
func (s *Store) Assign(
	ctx context.Context, id andon.TenantID, now andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	t, err := s.tenant(ctx, id)
	if err != nil || len(assignments) == 0 {
		return nil, err
	}
	var ids []andon.DeviceID
	for _, a := range assignments {
		ids = append(ids, a.Device)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	slots, err := s.devices.takeAll(ctx, t.key, ids)
	if err != nil {
		return nil, err
	}
	defer slots.give()
	if err := s.views(ctx, slots, 0); err != nil {
		return nil, err
	}
	kept, err := s.assign(ctx, t, slots, now, assignments)
	slots.forget() // their newest assignments are other ones now
	return kept, err
}

func (s *Store) assign(
	ctx context.Context, t *tenant, slots *taken, now andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	views := map[andon.DeviceID]*view{}
	for i, k := range slots.keys {
		views[k.device] = slots.slots[i].view.clone()
	}
	stamp := s.stamp()
	hints := s.newHints(t.key, s.ttl(andon.Forever))
	var kept []andon.Assignment
	var orders []order
	for _, a := range assignments {
		v := views[a.Device]
		if v.assigned.From != 0 && v.assigned.Operator == a.Operator {
			a.From, a.To, a.Again = v.assigned.From, 0, true
			kept = append(kept, a)
			continue
		}
		a.From, a.To = v.assignFrom(now), 0
		v.assigned = a
		kept = append(kept, a)
		device := string(a.Device)
		orders = append(orders, order{
			"INSERT INTO assignments_by_device (tenant, device, since, operator) " +
				"VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
			[]any{t.key, device, int64(a.From), string(a.Operator), stamp},
		}, order{
			"UPDATE latest_by_device USING TIMESTAMP ? SET assigned = ? " +
				"WHERE tenant = ? AND device = ?",
			[]any{int64(a.From), packAssigned(stamp, a), t.key, device},
		})
		hints.device(device)
		if a.Operator != "" {
			hints.answers(string(a.Operator), device)
		}
	}
	if err := s.write(ctx, hints.mutations()); err != nil {
		return nil, err
	}
	s.written.add(hints.all)
	for part := range slices.Chunk(orders, ordersInBatch) {
		if err := s.writeLogged(ctx, part); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// Assignments is of andon.Assignments.
func (s *Store) Assignments(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	return func(yield func(andon.Assignment, error) bool) {
		page, err := s.assignments(ctx, id, device, q)
		for _, a := range page {
			if !yield(a, nil) {
				return
			}
		}
		if err != nil {
			yield(andon.Assignment{}, err)
		}
	}
}

type assignmentRow struct {
	since    int64
	operator string
}

func (r *assignmentRow) into() []any { return []any{&r.since, &r.operator} }

// assignments reads one page, and the one next to it that says when the first or last one ended.
// Two processes that assign one operator at once may both keep it: of a row of the same operator
// only the first is an assignment.
func (s *Store) assignments(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.PageQuery,
) (page []andon.Assignment, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	ask, from, to := assignmentsDown, int64(0), int64(1<<62)
	// To of a newer page's last one is the From that this page begins behind.
	ends := andon.Time(0)
	if q.Order == andon.Asc {
		ask, from = assignmentsUp, int64(q.After)
	} else if q.After != 0 {
		to, ends = int64(q.After)-1, q.After
	}
	args := []any{t.key, string(device), from, to}
	rows := newPages(s, ask, args, q.Limit+2, (*assignmentRow).into)
	for len(page) < q.Limit {
		first, last, err := sameOperator(ctx, rows)
		if first == nil || err != nil {
			return page, err
		}
		a := andon.Assignment{
			Device: device, From: andon.Time(first.since), Operator: andon.PersonID(first.operator),
		}
		if q.Order == andon.Desc {
			a.From = andon.Time(last.since)
			a.To, ends = ends, a.From
		} else if next, err := rows.head(ctx); err != nil {
			return page, err
		} else if next != nil {
			a.To = andon.Time(next.since)
		}
		if q.Order == andon.Desc || a.From > q.After {
			page = append(page, a)
		}
	}
	return page, nil
}

// sameOperator takes the rows of one operator that stand side by side, and returns the first and
// the last of them; nil at the end.
func sameOperator(
	ctx context.Context, rows *pages[assignmentRow],
) (first, last *assignmentRow, err error) {
	for {
		r, err := rows.head(ctx)
		if err != nil || r == nil || (last != nil && r.operator != last.operator) {
			return first, last, err
		}
		taken := rows.take()
		if last = &taken; first == nil {
			first = last
		}
	}
}

// Resolve is of andon.Assignments. It asks the cluster each time: another process may have assigned
// a moment ago. What it reads serves the Append that follows.
func (s *Store) Resolve(ctx context.Context, id andon.TenantID, events []andon.Event) error {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return err
	}
	var ids []andon.DeviceID
	byDevice := map[andon.DeviceID][]*andon.Event{}
	for i := range events {
		if e := &events[i]; e.Operator == "" {
			if byDevice[e.Device] == nil {
				ids = append(ids, e.Device)
			}
			byDevice[e.Device] = append(byDevice[e.Device], e)
		}
	}
	slices.Sort(ids)
	slots, err := s.devices.takeAll(ctx, t.key, ids)
	if err != nil {
		return err
	}
	defer slots.give()
	if err := s.views(ctx, slots, 0); err != nil {
		return err
	}
	return parallel(ctx, len(ids), func(ctx context.Context, i int) error {
		return s.resolve(ctx, t, slots.slots[i].view.assigned, byDevice[ids[i]])
	})
}

// resolve resolves events of one device, whose newest assignment is given.
func (s *Store) resolve(
	ctx context.Context, t *tenant, newest andon.Assignment, events []*andon.Event,
) error {
	if newest.From == 0 {
		return nil
	}
	var all []andon.Assignment // newest first; read when an event is older than the newest
	for _, e := range events {
		if e.Time >= newest.From {
			e.Operator = newest.Operator
			continue
		}
		if all == nil {
			var r assignmentRow
			args := []any{t.key, string(e.Device), int64(0), int64(1 << 62)}
			err := s.each(ctx, assignmentsDown, args, r.into(), func() {
				all = append(all, andon.Assignment{
					From: andon.Time(r.since), Operator: andon.PersonID(r.operator),
				})
			})
			if err != nil {
				return err
			}
		}
		i := slices.IndexFunc(all, func(a andon.Assignment) bool { return a.From <= e.Time })
		if i >= 0 {
			e.Operator = all[i].Operator
		}
	}
	return nil
}
