package merge

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// Start says where the present run or incident of a device begins: at the first entry after Base.
// Base is the newest entry of another state, or of severity 0; there may be none, and a retirement
// is one too. Base only moves forward, so a Start after an older one is known to be out of date.
//
// Of two, the one of the later generation wins; of one generation the one with the later Base; of
// one Base the one with the earlier First; of one First the final one.
type Start struct {
	Gen   shared.Generation
	Base  andon.EventKey // without Device; the zero value is before everything
	First andon.Time     // of the first entry after Base
	Final bool           // First was looked up after all concurrent writes had landed
}

// Generation returns that of the device, from that of the severities.
func (l *Latest) Generation(severities shared.Generation) shared.Generation {
	return severities.AfterWithdrawals(len(l.Withdrawn))
}

// Retirement is the severity of a Base that is a retirement: after all entries of its instant.
const Retirement = 255

// Begins reports whether the start has a generation and a base.
func (s Start) Begins(gen shared.Generation, base andon.EventKey) bool {
	return s.First != 0 && s.Gen == gen && s.Base == base
}

// recalls returns what is known of the first entry after a base, also by a start of an earlier
// generation for the same base; 0 where that is nothing. What is of the base's own instant may have
// come before it then, and what was first may have been withdrawn since.
func (l *Latest) recalls(s Start, gen shared.Generation, base andon.EventKey) andon.Time {
	same := s.Base.Time == base.Time && s.Base.State == base.State && s.First > base.Time
	if s.Begins(gen, base) || same && !l.withdrawnAt(s.First) {
		return s.First
	}
	return 0
}

// NewStart is a Start that may have to be written.
type NewStart struct {
	Start
	Write bool
	Seek  bool // First is only known to be no later: entries that were there before count too
}

// base returns the newest entry that is not of the row of entries which ends with the newest one.
// An entry belongs to the row if its state does.
func (l *Latest) base(states *andon.StateSet, inRow func(andon.State) bool) andon.EventKey {
	var base andon.EventKey
	if l.Retired > 0 {
		base = andon.EventKey{Time: l.Retired, Severity: Retirement}
	}
	for i := range l.States {
		n := &l.States[i]
		if key := n.Key(states); !inRow(n.State) && key.Compare(base) > 0 {
			base = key
		}
	}
	return base
}

// RunBase returns what the present run begins after, of a device that is alive.
func (l *Latest) RunBase(states *andon.StateSet) andon.EventKey {
	present := l.Newest(states).State
	return l.base(states, func(s andon.State) bool { return s == present })
}

// IncidentBase returns what the present incident begins after; there is none where open is false.
func (l *Latest) IncidentBase(states *andon.StateSet) (base andon.EventKey, open bool) {
	if states.Severity(l.Newest(states).State) == 0 {
		return andon.EventKey{}, false
	}
	return l.base(states, func(s andon.State) bool { return states.Severity(s) > 0 }), true
}

// Starts returns where the run and the incident begin after a write that made l of was, of a device
// that is alive. first returns the time of the first entry of that write strictly after a key; 0
// where there is none.
func (l *Latest) Starts(
	was *Latest, severities shared.Generation, states *andon.StateSet,
	first func(andon.EventKey) andon.Time,
) (run, incident NewStart) {
	known, gen := was.NewestKey(states), l.Generation(severities)
	base := l.RunBase(states)
	run = l.next(was.Run, gen, base, known, first(base))
	if base, open := l.IncidentBase(states); open {
		incident = l.next(was.Incident, gen, base, known, first(base))
	}
	return run, incident
}

// next returns the start that comes after s, after a base, after a write with an entry at first,
// where known is the newest entry that was there before.
func (l *Latest) next(
	s Start, gen shared.Generation, base, known andon.EventKey, first andon.Time,
) NewStart {
	if s.Begins(gen, base) {
		if first == 0 || first >= s.First {
			return NewStart{Start: s}
		}
		s.First = first
		return NewStart{Start: s, Write: true}
	}
	first = andon.Earlier(first, l.recalls(s, gen, base))
	return NewStart{
		Start: Start{Gen: gen, Base: base, First: first}, Write: true,
		Seek: known.Compare(base) > 0,
	}
}

// Review says which starts become final when a device is reviewed.
type Review struct {
	// What the present run and incident began after when a change was seen, so long ago that
	// everything that was written concurrently has landed. A start after something else has a
	// review of its own.
	Run, Incident andon.EventKey
	Gen           shared.Generation // that those were of
	Quiet         bool              // nothing has been written for long: all starts become final
}

// Resolve works out the starts of a device that is alive where they are not final, and puts them
// into l. It returns those that a review makes final, or moves to the present generation, to be
// written; without a review there are none. first returns the time of the device's first entry
// strictly after a key; 0 where the log has none left.
func (l *Latest) Resolve(
	severities shared.Generation, states *andon.StateSet, review *Review,
	first func(andon.EventKey) (andon.Time, error),
) (run, incident NewStart, err error) {
	r := resolving{Latest: l, gen: l.Generation(severities), first: first, review: review}
	if review != nil {
		r.seen = *review
	}
	run, err = r.start(l.Run, l.RunBase(states), r.seen.Run, l.Newest(states).Time)
	if err != nil {
		return run, incident, err
	}
	l.Run = run.Start
	if base, open := l.IncidentBase(states); open {
		// An incident has begun with its last run at the latest.
		incident, err = r.start(l.Incident, base, r.seen.Incident, run.First)
		l.Incident = incident.Start
	}
	return run, incident, err
}

type resolving struct {
	*Latest
	gen    shared.Generation
	first  func(andon.EventKey) (andon.Time, error)
	review *Review // nil: a reader's
	seen   Review

	found bool // after base, at
	base  andon.EventKey
	at    andon.Time
}

// start resolves one start. latest is when it begins at the latest, which counts where the log has
// expired and no start was written.
func (r *resolving) start(
	was Start, base, seen andon.EventKey, latest andon.Time,
) (NewStart, error) {
	if was.Begins(r.gen, base) && was.Final {
		return NewStart{Start: was}, nil
	}
	if !r.found || r.base != base {
		at, err := r.first(base)
		if err != nil {
			return NewStart{}, err
		}
		r.found, r.base, r.at = true, base, at
	}
	is := Start{Gen: r.gen, Base: base}
	is.First = andon.Earlier(andon.Earlier(r.at, r.recalls(was, r.gen, base)), latest)
	is.Final = r.review != nil && (r.seen.Quiet || base == seen && r.seen.Gen == r.gen)
	moved := r.review != nil && was.Gen != r.gen
	return NewStart{Start: is, Write: is.Final || moved}, nil
}
