package dynamostore

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
)

// The newest assignment of a device is in its item, and so is its newest retirement. The earlier
// ones are rows, each written before the item is replaced. So the list is the rows and the newest,
// wherever a writer ends.

func (s *Store) keepAssignment(ctx context.Context, d *device, a andon.Assignment) error {
	i := items.AssignmentKey(d, a.From)
	i.SetText(items.AttrOperator, string(a.Operator))
	return s.db.Write(ctx, ddb.Write{Table: items.TableRecords, Put: i})
}

// assignments returns those of a device by From, each once, including those that change nothing.
func (s *Store) assignments(ctx context.Context, d *device) ([]andon.Assignment, error) {
	if d.AssignedFrom == 0 {
		return nil, nil
	}
	q := items.Records("assignment#" + d.Rows())
	q.Order = andon.Asc
	newest := andon.Assignment{Device: d.ID, Operator: d.Assignee, From: d.AssignedFrom}
	former, err := ddb.Collect(ctx, s.db, q, func(i ddb.Item) (
		a andon.Assignment, before bool, err error,
	) {
		a.From, err = items.ParseTime(i.Text(items.AttrSort))
		a.Device, a.Operator = d.ID, andon.PersonID(i.Text(items.AttrOperator))
		return a, a.From < newest.From, err
	})
	return append(former, newest), err
}

// Assign implements andon.Assignments. Assignments of several devices are written
// concurrently, those of one device in order.
func (s *Store) Assign(
	ctx context.Context, id andon.TenantID, now andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	kept := slices.Clone(assignments)
	of := map[andon.DeviceID][]int{}
	var ids []andon.DeviceID
	index := items.IndexRows{}
	for n, a := range assignments {
		if of[a.Device] == nil {
			ids = append(ids, a.Device)
		}
		of[a.Device] = append(of[a.Device], n)
		index.Name(t, andon.OperatorNames, string(a.Operator))
	}
	if err := s.writeIndexed(ctx, index); err != nil {
		return nil, err
	}
	err = shared.Parallel(ctx, len(ids), func(ctx context.Context, i int) error {
		for _, n := range of[ids[i]] {
			if err := s.assign(ctx, t, now, &kept[n]); err != nil {
				return err
			}
		}
		return nil
	})
	return kept, err
}

// assign assigns one, unless the operator is assigned already.
func (s *Store) assign(ctx context.Context, t *tenant, now andon.Time, a *andon.Assignment) error {
	a.Operator = andon.PersonID(strings.Clone(string(a.Operator)))
	var tried andon.Time // From as this call has put it
	err := s.withDevice(ctx, t, a.Device, andon.ByAssignment, func(d *device) (bool, error) {
		former := *d
		if err := d.Assign(a, now); err != nil {
			return false, err
		}
		if a.Again {
			a.Again = a.From != tried // else this call put it, and the answer was lost
			return false, nil
		}
		tried = a.From
		return true, s.keepFormer(ctx, &former)
	})
	return err
}

// keepFormer writes the row of the assignment that is the newest.
func (s *Store) keepFormer(ctx context.Context, d *device) error {
	if d.AssignedFrom == 0 {
		return nil
	}
	return s.keepAssignment(ctx, d, andon.Assignment{
		Device: d.ID, Operator: d.Assignee, From: d.AssignedFrom,
	})
}

// Assignments implements andon.Assignments.
func (s *Store) Assignments(
	ctx context.Context, owner andon.TenantID, id andon.DeviceID, q andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	ctx = s.forAnswer(ctx)
	return listOfDevice(ctx, s, owner, id, func(
		d *device, yield func(andon.Assignment) bool,
	) error {
		found, err := s.assigned(ctx, d)
		if q.Order == andon.Desc {
			slices.Reverse(found)
		}
		yield = seq.UpTo(q.Limit, yield)
		for _, a := range found {
			if q.Admits(a.From) && !yield(a) {
				return nil
			}
		}
		return err
	})
}

// assigned returns the assignments of a device by From, each until the next one, without those that
// were restored and change nothing.
func (s *Store) assigned(ctx context.Context, d *device) (found []andon.Assignment, err error) {
	rows, err := s.assignments(ctx, d)
	for _, a := range rows {
		last := len(found) - 1
		if last >= 0 && found[last].Operator == a.Operator {
			continue
		}
		if last >= 0 {
			found[last].To = a.From
		}
		found = append(found, a)
	}
	return found, err
}

// Restore implements andon.Restorer: device by device.
func (s *Store) Restore(ctx context.Context, id andon.TenantID, h andon.History) error {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return err
	}
	index := items.IndexRows{}
	for _, a := range h.Assignments {
		index.Name(t, andon.OperatorNames, string(a.Operator))
	}
	for _, e := range h.Escalations {
		index.Name(t, andon.SupervisorNames, string(e.To))
	}
	if err := s.writeIndexed(ctx, index); err != nil {
		return err
	}
	ids, of := h.ByDevice()
	return shared.Parallel(ctx, len(ids), func(ctx context.Context, i int) error {
		return s.withDevice(ctx, t, ids[i], andon.ByRestore, func(d *device) (bool, error) {
			return s.restore(ctx, d, of[ids[i]])
		})
	})
}

func (s *Store) restore(ctx context.Context, d *device, h *andon.History) (put bool, err error) {
	for _, a := range h.Assignments {
		if d.AssignedFrom <= a.From {
			err = s.keepFormer(ctx, d)
		} else {
			err = s.keepAssignment(ctx, d, a)
		}
		if err != nil {
			return false, err
		}
		put = true
		d.RestoreAssignment(andon.PersonID(strings.Clone(string(a.Operator))), a.From)
	}
	for _, r := range h.Escalations {
		done, err := s.restoreEscalation(ctx, d, r)
		if err != nil {
			return false, err
		}
		put = put || done
	}
	for _, r := range h.Retirements {
		former := d.Retired
		if !d.RestoreRetirement(r.At) {
			continue
		}
		if err := s.keepRetirement(ctx, d, former); err != nil {
			return false, err
		}
		put = true
	}
	return put, nil
}

func (s *Store) restoreEscalation(
	ctx context.Context, d *device, r andon.Escalation,
) (done bool, err error) {
	ref := andon.EntryRef{Time: r.Time, State: r.State}
	there, err := s.eventsAt(ctx, d.Tenant, places(d, ref))
	if err != nil || (len(there) == 0 && !d.Shows(r)) {
		return false, err
	}
	is := items.LatestRecord{Escalation: r}
	if len(there) > 0 {
		is.Of = there[0]
	}
	if err := s.insert(ctx, d, is); err != nil {
		return false, err
	}
	d.Escalates(r.Time, r.At)
	p := s.history(ctx, d)
	hidden, err := p.withdrawn(ref)
	if err != nil || hidden {
		return true, err
	}
	return true, p.escalate(r.Time, d.Keep(r.State))
}

// keepRetirement writes the row of a retirement that is no longer the newest; 0 is none.
func (s *Store) keepRetirement(ctx context.Context, d *device, at andon.Time) error {
	if at == 0 {
		return nil
	}
	i := items.RecordKeys().Item("retirement#"+d.Rows(), items.TimeText(at))
	return s.db.Write(ctx, ddb.Write{Table: items.TableRecords, Put: i})
}

// Retire implements andon.Current.
func (s *Store) Retire(
	ctx context.Context, id andon.TenantID, retired andon.DeviceID, at andon.Time,
) (kept andon.Time, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return 0, err
	}
	err = s.withDevice(ctx, t, retired, andon.ByRetirement, func(d *device) (bool, error) {
		if !d.Alive() {
			return false, andon.NoDevice(retired)
		}
		if err := s.keepRetirement(ctx, d, d.Retired); err != nil {
			return false, err
		}
		kept = d.Retire(at)
		return true, nil
	})
	return kept, err
}

// Retirements implements andon.Current.
func (s *Store) Retirements(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) ([]andon.Time, error) {
	ctx = s.forAnswer(ctx)
	d, err := s.find(ctx, id, device)
	if err != nil || d.Retired == 0 {
		return nil, err
	}
	q := items.Records("retirement#" + d.Rows())
	q.Order = andon.Asc
	former, err := ddb.Collect(ctx, s.db, q, func(i ddb.Item) (
		at andon.Time, before bool, err error,
	) {
		at, err = items.ParseTime(i.Text(items.AttrSort))
		return at, at < d.Retired, err
	})
	return append(former, d.Retired), err
}
