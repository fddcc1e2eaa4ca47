package people

import (
	"slices"

	"github.com/andonhq/andon"
)

// Run is a part of the log of a device in which it was above severity 0 all the time. Until is the
// time of the entry that ended it; 0: none did.
type Run struct {
	Since, Until andon.Time
	Worst        uint8
	State        andon.State // the newest
	Entry        andon.EntryRef
	Severity     uint8 // of State
	Count        int   // entries
}

// Runs returns the runs of the entries of a device, which come oldest first.
func Runs(entries []andon.EntryRef, severity func(andon.State) uint8) (all []Run) {
	open := false
	for _, e := range entries {
		is := severity(e.State)
		switch {
		case is == 0 && open:
			all[len(all)-1].Until, open = e.Time, false
		case is > 0 && !open:
			all, open = append(all, Run{Since: e.Time}), true
		}
		if is > 0 {
			r := &all[len(all)-1]
			r.State, r.Entry, r.Severity = e.State, e, is
			r.Worst, r.Count = max(r.Worst, is), r.Count+1
		}
	}
	return all
}

// holds reports whether an incident was seen to open in a run: its time is a part of the identity
// by the server's clock, so the entry that it is known to have tells which run it is of.
func (r *Run) holds(in *Incident) bool {
	return r.Since <= in.Entry.Time && (r.Until == 0 || in.Entry.Time < r.Until)
}

// figures are what an incident shows by the log.
func (r *Run) figures(in *Incident) {
	in.Since, in.Until, in.Worst, in.Count = r.Since, r.Until, r.Worst, r.Count
}

// History matches the runs of a device with its incidents of kind state that are stored, and
// returns its incidents, newest first. A run without one has one that is late: nobody was told of
// it. Of several in one run the earliest stands, and names the others. One without a run is left
// out if a late entry made its condition untrue, and it is closed; what the log does not hold any
// more, before a time, is as it was stored.
func History(
	device andon.DeviceID, runs []Run, stored []Incident, from andon.Time,
	id func(andon.Time) string,
) (all []Incident) {
	stored = slices.Clone(stored)
	slices.SortFunc(stored, func(a, b Incident) int { return int(a.Opened - b.Opened) })
	used := make([]bool, len(stored))
	for i := range runs {
		r, at := &runs[i], -1
		for n := range stored {
			switch {
			case used[n] || !r.holds(&stored[n]):
				continue
			case at < 0:
				at = len(all)
				all = append(all, stored[n])
				r.figures(&all[at])
			default:
				all[at].Joined = append(slices.Clip(all[at].Joined), stored[n].ID)
			}
			used[n] = true
		}
		if at < 0 {
			in := Incident{
				ID: id(r.Since), Device: device, Kind: StateKind, Opened: r.Since, State: r.State,
				Entry: r.Entry, Severity: r.Severity, Late: true, Ended: r.Until, Unasked: true,
			}
			r.figures(&in)
			all = append(all, in)
		}
	}
	for n := range stored {
		if in := &stored[n]; !used[n] && (in.Ended == 0 || in.Entry.Time < from) {
			all = append(all, *in)
		}
	}
	slices.SortStableFunc(all, func(a, b Incident) int { return int(b.Since - a.Since) })
	return all
}
