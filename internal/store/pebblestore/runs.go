package pebblestore

import (
	"cmp"
	"context"
	"slices"

	"github.com/andonhq/andon"
)

// A run is the blocks of a day that one round wrote, or one merge, device by device. The keys of
// two runs never lie between each other. So the engine takes the tables of a run in at its lowest
// level, and has no reason to write them again: only merges do (blockmerge.go).
//
// Where a device has blocks is not known, so a reader looks into each run of a day whose time it
// wants. How many these are is what merges bound.
type run struct {
	runID          // of several deliveries of an entry that of the highest sequence stands
	oldest, newest andon.Time
	entries        uint64 // that its blocks have
	dropped        bool   // no reader looks into it: it is not complete, or was merged
}

// uncounted is how many entries a run has while a round writes it: a crash leaves it with less than
// all. So has one of which a purge deleted a block that is damaged.
const uncounted = 1<<(8*entriesBytes) - 1

// entriesBytes is how many bytes a number of entries takes.
const entriesBytes = 6

// meets reports whether a run may have entries within a span.
func (r *run) meets(span andon.Span) bool {
	return r.newest >= span.From && (span.To == 0 || r.oldest <= span.To)
}

// holds reports whether a run may have entries of a time.
func (r *run) holds(t andon.Time) bool { return r.oldest <= t && t <= r.newest }

// wholeDay is a run of which it is not known when it begins and ends.
func wholeDay(day uint32, sequence uint64) run {
	return run{
		runID: runID{sequence: sequence}, entries: uncounted,
		oldest: andon.DayStart(day), newest: andon.DayStart(day+1) - 1,
	}
}

// dayRuns are the runs of a day, by rising sequence.
type dayRuns struct {
	day  uint32
	runs []run
}

// runList is all runs of a tenant, by rising day. It does not change: another takes its place.
type runList []dayRuns

func (l runList) find(day uint32) (int, bool) {
	return slices.BinarySearchFunc(l, day, func(d dayRuns, day uint32) int {
		return cmp.Compare(d.day, day)
	})
}

// on returns the runs of a day.
func (l runList) on(day uint32) []run {
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
func (l runList) with(day uint32, runs []run) runList {
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
func withRun(runs []run, r run) []run {
	i, ok := slices.BinarySearchFunc(runs, r.sequence, func(r run, sequence uint64) int {
		return cmp.Compare(r.sequence, sequence)
	})
	runs = slices.Clone(runs)
	if ok {
		runs[i] = r
		return runs
	}
	return slices.Insert(runs, i, r)
}

// The value of a run: dropped 1 byte | oldest 5 | newest 5, from the beginning of its day | entries
// 6.
func (r *run) value(day uint32) []byte {
	start, dropped := andon.DayStart(day), byte(0)
	if r.dropped {
		dropped = 1
	}
	return key{dropped}.short(uint64(r.oldest-start), inDayBytes).
		short(uint64(r.newest-start), inDayBytes).short(r.entries, entriesBytes)
}

// lacks returns an error where a run has another number of entries than it says.
func (r *run) lacks(entries uint64) error {
	if r.entries == uncounted || r.entries == entries {
		return nil
	}
	return andon.Errorf(andon.Damaged, "run %d of the day that begins at %s has %d entries, and "+
		"had %d when it was written: restore the store from a backup",
		r.sequence, andon.DayStart(r.oldest.Day()), entries, r.entries)
}

// readRun reads what follows the tenant in a key of tableRun, and its value.
func readRun(k, value []byte) (day uint32, r run, ok bool) {
	if len(k) != 4+runBytes || len(value) != 1+2*inDayBytes+entriesBytes || value[0] > 1 {
		return 0, r, false
	}
	day, k, _ = takeNumber(k)
	start := andon.DayStart(day)
	r.runID, _ = takeRun(k)
	r.dropped = value[0] == 1
	r.oldest = start + andon.Time(low(value[1:1+inDayBytes]))
	r.newest = start + andon.Time(low(value[1+inDayBytes:1+2*inDayBytes]))
	r.entries = low(value[1+2*inDayBytes:])
	return day, r, r.oldest <= r.newest
}

// addRun enters a run of a tenant into what readers look at.
func (s *Store) addRun(t *tenant, day uint32, r run) {
	s.merges.mu.Lock()
	defer s.merges.mu.Unlock()
	l := *t.runs.Load()
	l = l.with(day, withRun(l.on(day), r))
	t.runs.Store(&l)
	s.merges.loose[tenantDay{t.number, day}] = true
}

// openRuns reads which runs there are.
func (s *Store) openRuns(context.Context) error {
	s.merges.loose, s.merges.rest = map[tenantDay]bool{}, restRuns
	m, err := s.readMarker()
	if err != nil {
		return err
	}
	s.merges.settled[0] = m.settled
	for _, t := range s.tenants {
		var l runList
		for k, value := range s.rows(newKey(tableRun, t.number)) {
			day, r, ok := readRun(k, value)
			if !ok {
				return errDamaged
			}
			if r.dropped {
				s.merges.dropped = append(s.merges.dropped, droppedRuns{t.number, day, []run{r}})
				continue
			}
			if n := len(l); n == 0 || l[n-1].day != day {
				l = append(l, dayRuns{day: day})
			}
			of := &l[len(l)-1]
			if of.runs = append(of.runs, r); len(of.runs) >= restRuns {
				s.merges.loose[tenantDay{t.number, day}] = true
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
