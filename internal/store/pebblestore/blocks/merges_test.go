package blocks

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// TestWhichRunsAreMerged goes through flushes that give two days runs.
func TestWhichRunsAreMerged(t *testing.T) {
	m := merges{}
	days := map[string][]layout.Run{}
	type merged struct{ runs, level int }
	got := map[int]map[string]merged{}
	for n := 1; n <= 280; n++ {
		sequence := uint64(n)
		days["today"] = append(days["today"], layout.Run{RunID: layout.RunID{Sequence: sequence}})
		if n <= quietRuns {
			days["before"] = append(days["before"],
				layout.Run{RunID: layout.RunID{Sequence: sequence}})
		}
		copy(m.flushed[1:], m.flushed[:])
		m.flushed[0] = sequence
		got[n] = map[string]merged{}
		for name, runs := range days {
			some := m.due(runs)
			if len(some) == 0 {
				continue
			}
			last := some[len(some)-1]
			last.Level++
			got[n][name] = merged{len(some), int(last.Level)}
			i := slices.IndexFunc(runs,
				func(r layout.Run) bool { return r.Sequence == some[0].Sequence })
			days[name] = slices.Replace(slices.Clone(runs), i, i+len(some), last)
		}
		if len(got[n]) == 0 {
			delete(got, n)
		}
	}
	want := map[int]map[string]merged{quietRuns + quietFlushes: {"before": {quietRuns, 1}}}
	for n := 1; n <= 17; n++ {
		want[n*MergeRuns] = map[string]merged{"today": {MergeRuns, 1}}
	}
	want[16*MergeRuns+1] = map[string]merged{"today": {MergeRuns, 2}}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(merged{})); diff != "" {
		t.Error(diff)
	}
	var later []layout.Run
	for n := range uint64(MergeRuns) {
		later = append(later, layout.Run{RunID: layout.RunID{Sequence: 281 + n}})
	}
	if some := m.due(later); some != nil {
		t.Errorf("runs of a flush that has not ended are merged: %v", some)
	}
}
