package people

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

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
	// Operator is that of the newest entry, which may be the one that ended it, if that names one:
	// a device shows that operator where it was never assigned.
	Operator andon.PersonID
	// Cut is the time before which the log holds nothing any more, where the run may have begun
	// before it; 0: the log has its beginning.
	Cut andon.Time
}

// Logged is an entry of the log as far as runs follow from it. A retirement, which ends a run too,
// has no state.
type Logged struct {
	andon.EntryRef
	Operator andon.PersonID
}

// Runs returns the runs of the entries of a device, which come oldest first.
func Runs(entries []Logged, states *andon.StateSet) (all []Run) {
	open := false
	for _, e := range entries {
		is := states.Look(e.State).Severity
		if e.State == "" {
			is = 0
		}
		if is == 0 && open && e.Operator != "" {
			all[len(all)-1].Operator = e.Operator
		}
		switch {
		case is == 0 && open:
			all[len(all)-1].Until, open = e.Time, false
		case is > 0 && !open:
			all, open = append(all, Run{Since: e.Time}), true
		}
		if is > 0 {
			r := &all[len(all)-1]
			r.State, r.Entry, r.Severity, r.Operator = e.State, e.EntryRef, is, e.Operator
			r.Worst, r.Count = max(r.Worst, is), r.Count+1
		}
	}
	return all
}

// Holds reports whether a run may be that of an incident, which is of the newest that may be. Its
// time is a part of the identity by the server's clock, so the entry that it is known to have tells
// which run it is of. Where the state set has changed, that entry may have ended the run, or come
// after it, but the incident did not begin after the run.
func (r *Run) Holds(in *Incident) bool {
	return r.Count > 0 && r.Since <= in.Entry.Time && (r.Until == 0 || in.Begun() <= r.Until)
}

// Begun returns when the first run began that an incident was known to have.
func (in *Incident) Begun() andon.Time {
	return min(cmp.Or(in.From, in.Since), in.Since, in.Entry.Time)
}

// seen reports whether an incident that stayed open through several runs had this one.
func (r *Run) seen(in Incident) bool {
	return in.From != 0 && r.Since <= in.Entry.Time && (r.Until == 0 || in.From < r.Until)
}

// Figures gives an incident of the run the figures that the log has. It reports whether it is of
// the run.
func (r *Run) Figures(in *Incident) bool {
	if !r.Holds(in) {
		return false
	}
	if r.Until != 0 && in.Entry.Time >= r.Until {
		in.State, in.Entry, in.Severity = r.State, r.Entry, r.Severity
	}
	in.Until, in.Count = r.Until, r.Count
	if in.Since < min(r.Cut, r.Since) {
		in.Worst = max(in.Worst, r.Worst)
	} else {
		in.Since, in.Worst = r.Since, r.Worst
	}
	return true
}

// joined is an incident with a later one that is of the same run. What people do about the run they
// do about the one that is open; once both are closed, what was done about either was done.
func (in *Incident) joined(later *Incident) Incident {
	is := *later
	is.ID, is.Opened, is.Since, is.Worst = in.ID, in.Opened, in.Since, max(in.Worst, later.Worst)
	if later.Ended != 0 {
		is.Acknowledged = cmp.Or(later.Acknowledged, in.Acknowledged)
		is.TakenBy = cmp.Or(later.TakenBy, in.TakenBy)
	}
	is.Steps = slices.Concat(in.Steps, later.Steps)
	is.Joined = append(slices.Clip(in.Joined), later.ID)
	return is
}

// justNow is for how long a run that has ended may be one that the feed is about to bring.
const justNow = 10 * andon.Duration(1_000_000)

// History matches the runs of a device with its incidents of kind state that are stored, and
// returns its incidents, newest first. A run without one that has ended has one that is late:
// nobody was told of it. Of several in one run the earliest stands, and names the others. One
// without a run is left out if a late entry made its condition untrue, and it is closed; what the
// log does not hold any more, before a time, is as it was stored.
func History(
	device andon.DeviceID, runs []Run, stored []Incident, from, now andon.Time,
) (all []Incident) {
	stored = slices.Clone(stored)
	slices.SortFunc(stored, func(a, b Incident) int { return int(a.Opened - b.Opened) })
	of := make([]int, len(stored)) // the run of each, by its index
	for n := range stored {
		of[n] = len(runs) - 1
		for of[n] >= 0 && !runs[of[n]].Holds(&stored[n]) {
			of[n]--
		}
	}
	for i := range runs {
		r, at := &runs[i], -1
		for n := range stored {
			switch {
			case of[n] != i:
				continue
			case at < 0:
				at = len(all)
				all = append(all, stored[n])
			default:
				all[at] = all[at].joined(&stored[n])
			}
		}
		seen := -1
		if at < 0 {
			seen = slices.IndexFunc(stored, r.seen)
		}
		if seen >= 0 {
			stored[seen].Before = append(stored[seen].Before, *r)
		} else if at < 0 && r.Until != 0 && r.Until.Add(justNow) < now {
			at, all = len(all), append(all, Incident{
				ID: LateID(device, r.Since), Device: device, Kind: StateKind, Opened: r.Since,
				Since: r.Since, State: r.State, Entry: r.Entry, Severity: r.Severity, Late: true,
				Ended: r.Until, Operator: r.Operator, Unasked: true,
			})
		}
		if at >= 0 {
			r.Figures(&all[at])
		}
	}
	for n := range stored {
		if in := &stored[n]; of[n] < 0 && (in.Ended == 0 || in.Entry.Time < from) {
			all = append(all, *in)
		}
	}
	slices.SortStableFunc(all, func(a, b Incident) int { return int(b.Since - a.Since) })
	return all
}

// late precedes the ID of an incident that is found in the log alone.
const late = "late-"

// LateID returns the ID of an incident that is found in the log alone: its run is the one that has
// an instant of a device.
func LateID(device andon.DeviceID, at andon.Time) string {
	return late + strconv.FormatInt(int64(at), 36) + "-" + string(device)
}

// ParseLateID reads what LateID returned.
func ParseLateID(id string) (device andon.DeviceID, at andon.Time, ok bool) {
	rest, is := strings.CutPrefix(id, late)
	text, name, cut := strings.Cut(rest, "-")
	n, err := strconv.ParseInt(text, 36, 64)
	return andon.DeviceID(name), andon.Time(n), is && cut && err == nil && name != ""
}
