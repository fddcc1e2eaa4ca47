package pebblestore

import (
	"cmp"
	"context"
	"slices"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// dayRuns are the runs of a day, by rising sequence.
type dayRuns struct {
	day  uint32
	runs []layout.Run
}

// runList is all runs of a tenant, by rising day. It does not change: another takes its place.
type runList []dayRuns

func (l runList) find(day uint32) (int, bool) {
	return slices.BinarySearchFunc(l, day, func(d dayRuns, day uint32) int {
		return cmp.Compare(d.day, day)
	})
}

// on returns the runs of a day.
func (l runList) on(day uint32) []layout.Run {
	if i, ok := l.find(day); ok {
		return l[i].runs
	}
	return nil
}

// days returns the days that have runs.
func (l runList) days() []uint32 {
	days := make([]uint32, len(l))
	for i := range l {
		days[i] = l[i].day
	}
	return days
}

// with returns the list with other runs of a day.
func (l runList) with(day uint32, runs []layout.Run) runList {
	i, ok := l.find(day)
	switch {
	case len(runs) == 0 && !ok:
		return l
	case len(runs) == 0:
		return slices.Delete(slices.Clone(l), i, i+1)
	case !ok:
		return slices.Insert(slices.Clone(l), i, dayRuns{day, runs})
	}
	l = slices.Clone(l)
	l[i].runs = runs
	return l
}

// withRun returns the runs of a day with one more, or with another one of its sequence.
func withRun(runs []layout.Run, r layout.Run) []layout.Run {
	i, ok := slices.BinarySearchFunc(runs, r.Sequence, func(r layout.Run, sequence uint64) int {
		return cmp.Compare(r.Sequence, sequence)
	})
	runs = slices.Clone(runs)
	if ok {
		runs[i] = r
		return runs
	}
	return slices.Insert(runs, i, r)
}

// addRun enters a run of a tenant into what readers look at.
func (s *Store) addRun(t *tenant, day uint32, r layout.Run) {
	s.merges.mu.Lock()
	defer s.merges.mu.Unlock()
	l := *t.runs.Load()
	l = l.with(day, withRun(l.on(day), r))
	t.runs.Store(&l)
	s.merges.loose[engine.TenantDay{t.number, day}] = true
}

// openRuns reads which runs there are.
func (s *Store) openRuns(context.Context) error {
	s.merges.loose, s.merges.rest = map[engine.TenantDay]bool{}, restRuns
	m, err := s.readMarker()
	if err != nil {
		return err
	}
	s.merges.settled[0] = m.settled
	for _, t := range s.tenants {
		var l runList
		for k, value := range s.rows(layout.NewKey(layout.TableRun, t.number)) {
			day, r, ok := layout.ReadRun(k, value)
			if !ok {
				return layout.ErrDamaged
			}
			if r.Dropped {
				s.merges.dropped = append(s.merges.dropped,
					droppedRuns{t.number, day, []layout.Run{r}})
				continue
			}
			if n := len(l); n == 0 || l[n-1].day != day {
				l = append(l, dayRuns{day: day})
			}
			of := &l[len(l)-1]
			if of.runs = append(of.runs, r); len(of.runs) >= restRuns {
				s.merges.loose[engine.TenantDay{t.number, day}] = true
			}
		}
		t.runs.Store(&l)
	}
	return nil
}

// forgetDays drops the runs of a tenant before a day. The caller holds merges.mu.
func (t *tenant) forgetDays(before uint32) {
	l := *t.runs.Load()
	i, _ := l.find(before)
	l = l[i:]
	t.runs.Store(&l)
}
