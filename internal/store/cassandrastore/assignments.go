package cassandrastore

import (
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared"
)

const assignmentColumns = "SELECT since, operator FROM assignments_by_device " +
	"WHERE tenant = ? AND device = ? AND since >= ? AND since <= ?"

var (
	assignmentsDown = cql.Ask(assignmentColumns, 2)
	assignmentsUp   = cql.Ask(assignmentColumns+" ORDER BY since ASC", 2)
)

// statementsInBatch keeps a logged batch below the 50 KiB that Cassandra refuses, with the longest
// ids.
const statementsInBatch = 40

// Assign is of andon.Assignments. Assignments of several devices are written by logged batches, so
// that each batch is kept as a whole once Cassandra has it; more than twenty are several
// batches.
func (s *Store) Assign(
	ctx context.Context, id andon.TenantID, now andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	if err := s.mayWrite(ctx); err != nil {
		return nil, err
	}
	t, err := s.tenant(ctx, id)
	if err != nil || len(assignments) == 0 {
		return nil, err
	}
	byDevice := func(a *andon.Assignment) *andon.DeviceID { return &a.Device }
	assignments = inAll(t.purged, assignments, byDevice)
	var ids []andon.DeviceID
	for _, a := range assignments {
		ids = append(ids, a.Device)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	slots, err := s.take(ctx, t.Key, ids...)
	if err != nil {
		return nil, err
	}
	defer slots.Give()
	began := s.processes.now()
	if err := s.views(ctx, t, slots, 0); err != nil {
		return nil, err
	}
	kept, err := s.assign(ctx, t, slots, now, assignments)
	slots.Forget() // their newest assignments are other ones now
	if err == nil {
		err = s.inTime(began, s.processes.pace.MemberFor)
	}
	for i := range kept {
		kept[i].Device = idOf(kept[i].Device)
	}
	return kept, err
}

func (s *Store) assign(
	ctx context.Context, t *tenant, slots *taken, now andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	devices := map[andon.DeviceID]*current.Device{}
	for _, slot := range slots.Slots {
		d := slot.View.Device(slot.Key.Device, t.Record.States)
		devices[d.ID] = &d
	}
	stamp := s.stamp()
	index := s.newIndexRows(t.Key, s.ttl(s.working.Load().Retention))
	var kept []andon.Assignment
	var statements []cql.Statement
	for _, a := range assignments {
		d := devices[a.Device]
		if a.Again = d.AssignedFrom != 0 && d.Assignee == a.Operator; a.Again {
			a.From, a.To = d.AssignedFrom, 0
			kept = append(kept, a)
			continue
		}
		a.From, a.To = d.Assign(a.Operator, now), 0
		kept = append(kept, a)
		statements = append(statements, s.assignStatements(t, a, stamp)...)
		index.device(string(a.Device))
		if a.Operator != "" {
			s.foresee(index, t, now, a)
		}
	}
	if err := index.write(ctx); err != nil {
		return nil, err
	}
	for part := range slices.Chunk(statements, statementsInBatch) {
		if err := s.db.WriteLogged(ctx, part); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// assignStatements write an assignment into the list, and as the newest one unless a newer is
// there.
func (s *Store) assignStatements(t *tenant, a andon.Assignment, stamp int64) []cql.Statement {
	device := string(a.Device)
	return []cql.Statement{cql.Do(
		"INSERT INTO assignments_by_device (tenant, device, since, operator) "+
			"VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
		t.Key, device, int64(a.From), string(a.Operator), stamp), cql.Do(
		"UPDATE latest_by_device USING TIMESTAMP ? SET assigned = ? "+
			"WHERE tenant = ? AND device = ?",
		int64(a.From), packAssigned(stamp, a), t.Key, device)}
}

// Assignments is of andon.Assignments.
func (s *Store) Assignments(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Assignment) bool) error {
		page, err := s.assignments(ctx, t, device, q)
		for _, a := range page {
			if !yield(a) {
				return nil
			}
		}
		return err
	})
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
	ctx context.Context, t *tenant, device andon.DeviceID, q andon.PageQuery,
) (page []andon.Assignment, err error) {
	ask, from, to := assignmentsDown, int64(0), int64(1<<62)
	// To of a newer page's last one is the From that this page begins behind.
	ends := andon.Time(0)
	if q.Order == andon.Asc {
		ask, from = assignmentsUp, int64(q.After)
	} else if q.After != 0 {
		to, ends = int64(q.After)-1, q.After
	}
	args := []any{t.Key, string(t.purged.in(device)), from, to}
	rows := cql.Pages(s.db, ask, args, q.Limit+2, (*assignmentRow).into)
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
		} else if next, err := rows.Head(ctx); err != nil {
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
	ctx context.Context, rows *shared.Rows[assignmentRow],
) (first, last *assignmentRow, err error) {
	for {
		r, err := rows.Head(ctx)
		if err != nil || r == nil || (last != nil && r.operator != last.operator) {
			return first, last, err
		}
		taken := rows.Take()
		if last = &taken; first == nil {
			first = last
		}
	}
}

// operators tells who was assigned to a device, at times that only rise or only fall, as an order
// has them.
type operators struct {
	store  *Store
	tenant *tenant
	device andon.DeviceID
	order  andon.Order

	rows  *shared.Rows[assignmentRow] // nil: not asked yet
	since assignmentRow               // in force, where times rise
}

func (s *Store) operators(t *tenant, device andon.DeviceID, o andon.Order) *operators {
	return &operators{store: s, tenant: t, device: device, order: o}
}

// fill gives an entry that names no operator the one who was assigned.
func (o *operators) fill(ctx context.Context, e *andon.Event) (err error) {
	if e.Operator == "" {
		e.Operator, err = o.at(ctx, e.Time)
	}
	return err
}

// all wants every entry, with its operator.
func (o *operators) all(ctx context.Context, e *andon.Entry) (bool, error) {
	return true, o.fill(ctx, &e.Event)
}

// only wants the entries of one operator.
func (o *operators) only(operator andon.PersonID) wanted {
	return func(ctx context.Context, e *andon.Entry) (bool, error) {
		err := o.fill(ctx, &e.Event)
		return e.Operator == operator, err
	}
}

// assignmentsAtOnce is a page of them: few pages of entries go beyond that.
const assignmentsAtOnce = 10

func (o *operators) at(ctx context.Context, at andon.Time) (andon.PersonID, error) {
	if o.rows == nil {
		if err := o.begin(ctx, at); err != nil {
			return "", err
		}
	}
	for {
		r, err := o.rows.Head(ctx)
		switch {
		case err != nil:
			return "", err
		case o.order == andon.Asc && (r == nil || r.since > int64(at)):
			return andon.PersonID(o.since.operator), nil
		case r == nil:
			return "", nil
		case o.order == andon.Desc && r.since <= int64(at):
			return andon.PersonID(r.operator), nil
		}
		o.since = o.rows.Take()
	}
}

func (o *operators) begin(ctx context.Context, at andon.Time) error {
	key := []any{o.tenant.Key, string(o.device)}
	down := cql.Pages(o.store.db, assignmentsDown, append(key, int64(0), int64(at)),
		assignmentsAtOnce, (*assignmentRow).into)
	if o.rows = down; o.order == andon.Desc {
		return nil
	}
	if r, err := down.Head(ctx); err != nil {
		o.rows = nil
		return err
	} else if r != nil {
		o.since = *r
	}
	o.rows = cql.Pages(o.store.db, assignmentsUp, append(key, int64(at)+1, int64(1<<62)),
		assignmentsAtOnce, (*assignmentRow).into)
	return nil
}

// named returns whom each entry names.
func named(events []andon.Event) []andon.PersonID {
	all := make([]andon.PersonID, len(events))
	for i := range events {
		all[i] = events[i].Operator
	}
	return all
}

// answering returns who answers for each entry of an append, for the index rows: whom it names,
// else who was assigned as far as this process knows. Assign notes the rest.
func (a *appending) answering(ctx context.Context, d *deviceAppend) ([]andon.PersonID, error) {
	newest, all := d.was.Assigned, named(d.events)
	if newest.From == 0 {
		return all, nil
	}
	former := a.store.operators(a.tenant, d.events[0].Device, andon.Asc)
	for i := range d.events {
		e := &d.events[i] // they stand in the order of the log
		if e.Operator == "" && e.Time >= newest.From {
			all[i] = newest.Operator
		} else if e.Operator == "" {
			var err error
			if all[i], err = former.at(ctx, e.Time); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// foresee notes an operator for the hours that a device may have entries in which were on their way
// when the assignment was written: those that another process takes in without knowing of it are at
// most as far ahead as the tenant allows.
func (s *Store) foresee(x *indexRows, t *tenant, now andon.Time, a andon.Assignment) {
	last := now.Add(andon.DurationOf(s.options.Settle) + t.Record.MaxFuture).Hour()
	first := a.From.Hour()
	for hour := first; hour <= max(first, min(last, first+hoursForeseen)); hour++ {
		x.operator(string(a.Operator), string(a.Device), max(a.From, andon.HourStart(hour)))
	}
}

// hoursForeseen bounds what one assignment costs where a tenant lets entries be far ahead.
const hoursForeseen = 48
