package memstore

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
)

// Assign keeps assignments, each after the device's newest entry and newest assignment.
func (s *Store) Assign(
	ctx context.Context, id andon.TenantID, now andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	var kept []andon.Assignment
	err := s.write(ctx, id, andon.ByAssignment, func(t *tenant) error {
		if err := t.overtaken(assignments); err != nil {
			return err
		}
		for _, a := range assignments {
			kept = append(kept, t.device(a.Device).assign(now, a.Operator))
		}
		return nil
	})
	return kept, err
}

// overtaken returns the Conflict of the first assignment that has one, or nil.
func (t *tenant) overtaken(assignments []andon.Assignment) error {
	operators := map[andon.DeviceID]andon.PersonID{}
	for _, a := range assignments {
		operator, assigned := operators[a.Device]
		if !assigned {
			for _, d := range t.known(a.Device) {
				operator, assigned = d.assignedAt(andon.MaxTime), len(d.assignments) > 0
			}
		}
		if again := assigned && operator == a.Operator; again {
			continue
		}
		if err := a.Overtaken(operator); err != nil {
			return err
		}
		operators[a.Device] = a.Operator
	}
	return nil
}

func (d *device) assign(now andon.Time, operator andon.PersonID) andon.Assignment {
	from := max(now, d.newestTime()+1)
	if n := len(d.assignments); n > 0 {
		newest := d.assignments[n-1]
		if newest.Operator == operator {
			newest.Again = true
			return newest
		}
		from = max(from, newest.From+1)
	}
	return d.keepAssignment(from, operator)
}

// keepAssignment keeps an assignment, in place of one from the same time.
func (d *device) keepAssignment(from andon.Time, operator andon.PersonID) andon.Assignment {
	a := andon.Assignment{Device: d.id, Operator: clone(operator), From: from}
	byFrom := func(have, a andon.Assignment) int { return cmp.Compare(have.From, a.From) }
	i, there := slices.BinarySearchFunc(d.assignments, a, byFrom)
	if there {
		d.assignments[i] = a
	} else {
		d.assignments = slices.Insert(d.assignments, i, a)
	}
	d.changed()
	return a
}

// Assignments returns the assignments of a device by From.
func (s *Store) Assignments(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	return list(ctx, s, id, func(t *tenant) []andon.Assignment {
		var found []andon.Assignment
		for _, d := range t.known(device) {
			found = d.assigned()
		}
		if q.Order == andon.Desc {
			slices.Reverse(found)
		}
		found = slices.DeleteFunc(found, func(a andon.Assignment) bool {
			return !q.Admits(a.From)
		})
		return firstOf(found, q.Limit)
	})
}

// assigned returns the assignments by From, each until the next one.
func (d *device) assigned() (all []andon.Assignment) {
	for _, a := range d.assignments {
		last := len(all) - 1
		if last >= 0 && all[last].Operator == a.Operator {
			continue // it was restored, and changes nothing
		}
		if last >= 0 {
			all[last].To = a.From
		}
		all = append(all, a)
	}
	return all
}

func (d *device) assignedAt(at andon.Time) andon.PersonID {
	var operator andon.PersonID
	for _, a := range d.assignments {
		if a.From <= at {
			operator = a.Operator
		}
	}
	return operator
}
