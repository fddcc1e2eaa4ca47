package blocks

import (
	"cmp"
	"slices"

	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// dayRuns are the runs of a day, by rising sequence.
type dayRuns struct {
	day  uint32
	runs []layout.Run
}

// RunList is all runs of a tenant, by rising day. It does not change: another takes its place.
type RunList []dayRuns

func (l RunList) find(day uint32) (int, bool) {
	return slices.BinarySearchFunc(l, day, func(d dayRuns, day uint32) int {
		return cmp.Compare(d.day, day)
	})
}

// On returns the runs of a day.
func (l RunList) On(day uint32) []layout.Run {
	if i, ok := l.find(day); ok {
		return l[i].runs
	}
	return nil
}

// Days returns the days that have runs.
func (l RunList) Days() []uint32 {
	days := make([]uint32, len(l))
	for i := range l {
		days[i] = l[i].day
	}
	return days
}

func (l RunList) with(day uint32, runs []layout.Run) RunList {
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
func (l *Log) addRun(t *Tenant, day uint32, r layout.Run) {
	l.merges.mu.Lock()
	defer l.merges.mu.Unlock()
	runs := *t.Runs.Load()
	runs = runs.with(day, withRun(runs.On(day), r))
	t.Runs.Store(&runs)
	l.merges.candidates[tenantDay{t.Number, day}] = true
}

// forgetDays drops the runs of a tenant before a day. The caller holds merges.mu.
func (t *Tenant) forgetDays(before uint32) {
	l := *t.Runs.Load()
	i, _ := l.find(before)
	l = l[i:]
	t.Runs.Store(&l)
}
