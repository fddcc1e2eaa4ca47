package rows

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared"
)

const assignmentColumns = "SELECT since, operator FROM assignments_by_device " +
	"WHERE tenant = ? AND device = ? AND since >= ? AND since <= ?"

var (
	assignmentsDown = cql.Query{Text: assignmentColumns, Partition: 2}
	assignmentsUp   = cql.Query{Text: assignmentColumns + " ORDER BY since ASC", Partition: 2}
)

func assignmentRow(a *andon.Assignment) []any { return []any{&a.From, &a.Operator} }

// Assignments returns one page of the assignments of a device. It reads the row next to it, too,
// which says when the first or last one ended. Two processes that assign one operator at the same
// time may both write it: of consecutive rows of one operator only the first is an assignment.
func (s Reader) Assignments(
	ctx context.Context, t *Tenant, device andon.DeviceID, q andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	ask, from, to := assignmentsDown, andon.Time(0), andon.Time(1<<62)
	// The To of the first one is the From at which the newer page ended.
	ends := andon.Time(0)
	if q.Order == andon.Asc {
		ask, from = assignmentsUp, q.After
	} else if q.After != 0 {
		to, ends = q.After-1, q.After
	}
	args := []any{t.Key, string(t.Purged.Key(device)), from, to}
	return seq.Of(func(yield func(andon.Assignment) bool) error {
		rows := cql.Pages(s.DB, ask, args, q.Limit+2, assignmentRow)
		yield = seq.UpTo(q.Limit, yield)
		r, err := rows.Head(ctx)
		for err == nil && r != nil {
			a := rows.Take()
			last := a.From
			for r, err = rows.Head(ctx); r != nil && r.Operator == a.Operator; {
				last = rows.Take().From
				r, err = rows.Head(ctx)
			}
			a.Device = device
			if q.Order == andon.Desc {
				a.From, a.To = last, ends
				ends = a.From
			} else if r != nil {
				a.To = r.From
			}
			if err == nil && (q.Order == andon.Desc || a.From > q.After) && !yield(a) {
				return nil
			}
		}
		return err
	})
}

// operators finds who was assigned to a device at times that only rise or only fall, as an order
// has them.
type operators struct {
	Reader
	tenant *Tenant
	device andon.DeviceID
	order  andon.Order

	rows  *shared.Rows[andon.Assignment] // nil: not asked yet
	since andon.Assignment               // in force, where times rise
}

// Operators returns the operators of a device, at times in an order.
func (s Reader) Operators(t *Tenant, device andon.DeviceID, o andon.Order) *operators {
	return &operators{Reader: s, tenant: t, device: device, order: o}
}

// fill gives an entry that names no operator the one who was assigned at its time.
func (o *operators) fill(ctx context.Context, e *andon.Event) (err error) {
	if e.Operator == "" {
		e.Operator, err = o.InForce(ctx, e.Time)
	}
	return err
}

// Every is a filter that admits every entry, and fills in its operator.
func (o *operators) Every(ctx context.Context, e *andon.Entry) (bool, error) {
	return true, o.fill(ctx, &e.Event)
}

// only is a filter that admits the entries of one operator.
func (o *operators) only(operator andon.PersonID) Wanted {
	return func(ctx context.Context, e *andon.Entry) (bool, error) {
		err := o.fill(ctx, &e.Event)
		return e.Operator == operator, err
	}
}

// assignmentsAtOnce is the size of a page of assignments: few pages of entries need a second one.
const assignmentsAtOnce = 10

func (o *operators) InForce(ctx context.Context, at andon.Time) (andon.PersonID, error) {
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
		case o.order == andon.Asc && (r == nil || r.From > at):
			return o.since.Operator, nil
		case r == nil:
			return "", nil
		case o.order == andon.Desc && r.From <= at:
			return r.Operator, nil
		}
		o.since = o.rows.Take()
	}
}

func (o *operators) begin(ctx context.Context, at andon.Time) error {
	key := []any{o.tenant.Key, string(o.device)}
	down := cql.Pages(o.DB, assignmentsDown, append(key, 0, at), assignmentsAtOnce, assignmentRow)
	if o.rows = down; o.order == andon.Desc {
		return nil
	}
	if r, err := down.Head(ctx); err != nil {
		o.rows = nil
		return err
	} else if r != nil {
		o.since = *r
	}
	o.rows = cql.Pages(o.DB, assignmentsUp, append(key, at+1, int64(1<<62)),
		assignmentsAtOnce, assignmentRow)
	return nil
}

// Named returns the operator that each event names.
func Named(events []andon.Event) []andon.PersonID {
	all := make([]andon.PersonID, len(events))
	for i := range events {
		all[i] = events[i].Operator
	}
	return all
}
