package groups

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// Tallies returns groups of a tenant in the order of their paths, up to limit of those after one:
// a group and those below it, or all. A group without devices is there as long as a profile or a
// rule names it.
func (g *Groups) Tallies(
	ctx context.Context, id andon.TenantID, under, after andon.Group, limit int,
	silentBefore andon.Time,
) ([]andon.GroupTally, error) {
	t, err := g.current(ctx, id)
	if err != nil {
		return nil, err
	}
	counts, err := g.store.Counts(ctx, id, silentBefore)
	if err != nil {
		return nil, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	groups := t.tree.groups
	counts = slices.DeleteFunc(counts, func(c andon.StateCount) bool {
		return c.Group >= uint32(len(groups)) // it is younger than this look at the tree
	})
	var found []uint32
	for n, there := range t.there(counts) {
		in := groups[n].path
		if there && n > 0 && in > after && (under == "" || in.Within(under)) {
			found = append(found, uint32(n))
		}
	}
	slices.SortFunc(found, func(a, b uint32) int {
		return cmp.Compare(groups[a].path, groups[b].path)
	})
	found = found[:min(len(found), limit)]
	all, at := make([]andon.GroupTally, len(found)), make([]*andon.GroupTally, len(groups))
	for i, n := range found {
		all[i] = andon.GroupTally{Group: groups[n].path, States: map[andon.State]int{}}
		at[n] = &all[i]
	}
	for _, c := range counts {
		for n := c.Group; n != 0; n = groups[n].parent {
			if in := at[n]; in != nil {
				in.States[c.State] += c.Count
				in.Devices, in.Silent = in.Devices+c.Count, in.Silent+c.Silent
			}
		}
	}
	return all, nil
}

// there reports of each group whether it or one below it has devices, or is named. The caller holds
// mu.
func (t *tenant) there(counts []andon.StateCount) []bool {
	all := make([]bool, len(t.tree.groups))
	for _, c := range counts {
		all[c.Group] = true
	}
	for n := len(all) - 1; n > 0; n-- { // each before the one that contains it
		in := &t.tree.groups[n]
		all[n] = all[n] || in.ruled || len(in.members) > 0
		all[in.parent] = all[in.parent] || all[n]
	}
	return all
}

// Counts is that of the store by state, of the devices that are selected. By group they are kept,
// else the devices are listed.
func (g *Groups) Counts(
	ctx context.Context, id andon.TenantID, s *Selected, silentBefore andon.Time,
) (all []andon.StateCount, err error) {
	if s.selectsAll() || s.byGroup() {
		all, err = g.store.Counts(ctx, id, silentBefore)
		return andon.ByState(s.counts(all)), err
	}
	err = g.each(ctx, id, s, func(d *andon.Device) {
		c := andon.StateCount{State: d.State, Count: 1}
		if d.Received < silentBefore {
			c.Silent = 1
		}
		all = append(all, c)
	})
	return andon.ByState(all), err
}

func (g *Groups) each(
	ctx context.Context, id andon.TenantID, s *Selected, do func(*andon.Device),
) error {
	// A store multiplies the limit to choose the size of its pages.
	q := andon.DeviceQuery{Brief: true, Limit: math.MaxInt32}
	for d, err := range g.Devices(ctx, id, q, s) {
		if err != nil {
			return err
		}
		do(&d)
	}
	return nil
}

// People returns who has devices that are selected now, by bytes: their operators, or the
// supervisors to whom they are escalated. The devices are listed.
func (g *Groups) People(
	ctx context.Context, id andon.TenantID, q andon.NameQuery, s *Selected,
) iter.Seq2[andon.NameCount, error] {
	return seq.Of(func(yield func(andon.NameCount) bool) error {
		counts := map[andon.PersonID]int{}
		err := g.each(ctx, id, s, func(d *andon.Device) {
			person := d.Operator
			if q.Of == andon.SupervisorNames {
				person = d.EscalatedTo
			}
			if person != "" && string(person) > q.After {
				counts[person]++
			}
		})
		if err != nil {
			return err
		}
		yield = seq.UpTo(q.Limit, yield)
		for _, person := range slices.Sorted(maps.Keys(counts)) {
			if !yield(andon.NameCount{Name: string(person), Devices: counts[person]}) {
				break
			}
		}
		return nil
	})
}

func (s *Selected) counts(all []andon.StateCount) []andon.StateCount {
	if s.selectsAll() {
		return all
	}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	return slices.DeleteFunc(all, func(c andon.StateCount) bool {
		return c.Group >= uint32(len(s.t.tree.groups)) || !s.within(c.Group)
	})
}
