package layout

import "github.com/andonhq/andon"

// Run is a sorted run: the blocks of a day that one flush wrote, or one merge, device by device.
// The key ranges of two runs do not overlap. So the engine ingests the tables of a run at its
// lowest level, and has no reason to compact them.
type Run struct {
	RunID          // of several deliveries of an entry that of the highest sequence wins
	Oldest, Newest andon.Time
	Entries        uint64 // that its blocks have, or readings
	Dropped        bool   // readers skip it: it is not complete, or was merged into another
}

// Uncounted is the number of entries of a run whose number is not known: a flush is writing it, and
// a crash would leave it with a part of them; or a purge deleted a block of it that is damaged.
const Uncounted = 1<<(8*entriesBytes) - 1

const entriesBytes = 6

// Meets reports whether a run may have entries within a span.
func (r *Run) Meets(span andon.Span) bool {
	return r.Newest >= span.From && (span.To == 0 || r.Oldest <= span.To)
}

// Holds reports whether a run may have entries of a time.
func (r *Run) Holds(t andon.Time) bool { return r.Oldest <= t && t <= r.Newest }

// NewRun is a run of which it is not known when it begins and ends: it may have the whole day.
func NewRun(day uint32, sequence uint64) Run {
	return Run{
		RunID: RunID{Sequence: sequence}, Entries: Uncounted,
		Oldest: andon.DayStart(day), Newest: andon.DayStart(day+1) - 1,
	}
}

// Value encodes a run: dropped 1 byte | oldest 5 | newest 5, from the beginning of its day |
// entries 6.
func (r *Run) Value(day uint32) []byte {
	start, dropped := andon.DayStart(day), byte(0)
	if r.Dropped {
		dropped = 1
	}
	return Key{dropped}.Uint(uint64(r.Oldest-start), inDayBytes).
		Uint(uint64(r.Newest-start), inDayBytes).Uint(r.Entries, entriesBytes)
}

// CheckCount returns an error where a run has another number of entries than it says. what are the
// entries, for the user.
func (r *Run) CheckCount(entries uint64, what string) error {
	if r.Entries == Uncounted || r.Entries == entries {
		return nil
	}
	return andon.Errorf(andon.Damaged, "run %d of the day that begins at %s has %d %s, and "+
		"had %d when it was written: restore the store from a backup",
		r.Sequence, andon.DayStart(r.Oldest.Day()), entries, what, r.Entries)
}

// ReadRun reads what follows the tenant in a key of a table of runs, and its value.
func ReadRun(k, value []byte) (day uint32, r Run, ok bool) {
	if len(k) != 4+runBytes || len(value) != 1+2*inDayBytes+entriesBytes || value[0] > 1 {
		return 0, r, false
	}
	day, k, _ = TakeNumber(k)
	start := andon.DayStart(day)
	r.RunID, _ = takeRun(k)
	r.Dropped = value[0] == 1
	r.Oldest = start + andon.Time(Uint(value[1:1+inDayBytes]))
	r.Newest = start + andon.Time(Uint(value[1+inDayBytes:1+2*inDayBytes]))
	r.Entries = Uint(value[1+2*inDayBytes:])
	return day, r, r.Oldest <= r.Newest
}
