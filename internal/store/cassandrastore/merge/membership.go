package merge

import (
	"sync"
	"time"
)

// Moment is a time on the process's own clock; 0 is none.
type Moment time.Duration

// Add returns the moment that is so much later.
func (m Moment) Add(d time.Duration) Moment { return m + Moment(d) }

// Pace is how often a process writes its heartbeat, and how long it relies on what it read of the
// others. One with TrustFor 0 never assumes that it is alone.
type Pace struct {
	Beat      time.Duration // from one beat and check to the next
	TrustFor  time.Duration
	MemberFor time.Duration
	GoneAfter time.Duration // longer than MemberFor
}

// UsualPace returns the pace of a server.
func UsualPace() Pace {
	return Pace{
		Beat: time.Second, TrustFor: 3 * time.Second,
		MemberFor: 15 * time.Second, GoneAfter: 30 * time.Second,
	}
}

// Membership is what one process knows of itself and of the other processes that write. A process
// that knows that it alone writes need not read a device again before each append: what it read and
// wrote itself is all there is. Each process that writes has a row in a table, in which it counts
// up a beat, and reads the rows of the others:
//
//   - It writes only while its own beat was kept within MemberFor, and only after every process
//     that may have assumed that it is alone when the row was new has stopped to do so.
//   - It assumes that it is alone for TrustFor from the start of a check that found no other, and
//     says so in its row before it does.
//   - A row whose beat has not changed for GoneAfter belongs to a process that ended without
//     deleting it.
//
// Each process measures these on its own clock. So the clocks of machines need not agree, and a
// process that was paused finds that its time is over. Beats and checks must be consistent: what
// one has acknowledged, the next check sees.
//
// Membership does no I/O and reads no clock: it is called with what was done, and when.
type Membership struct {
	// ID is the process's own, of which no other process ever had it.
	ID   string
	pace Pace

	mu      sync.Mutex
	beat    int64
	beaten  Moment // when the newest beat that was kept began
	there   Moment // since when the row is known to be there without a gap
	says    bool   // that row says that this process may assume that it is alone
	may     Moment // from when on it may write
	found   Moment // when the newest check began that found no other
	since   Moment // since when no other can have written
	others  map[string]*member
	checked Moment // when the newest check ended
}

// member is another process as it was last seen.
type member struct {
	beat  int64
	since Moment // when that beat was first seen
}

// MemberRow is a row of the table.
type MemberRow struct {
	ID      string
	Beat    int64
	Trust   int64 // for how many µs it may assume that it is alone; 0 where it does not
	Version int64 // of the row, which rises: what deletes it names that
}

// NewMembership makes the membership of a process that has no row yet.
func NewMembership(id string, p Pace) *Membership {
	return &Membership{ID: id, pace: p, others: map[string]*member{}}
}

// Next returns the row to be written.
func (m *Membership) Next() MemberRow {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.beat++
	r := MemberRow{ID: m.ID, Beat: m.beat}
	// It is said as long as it is true, and before it becomes so: when the last check found none.
	if m.found != 0 {
		r.Trust = m.pace.TrustFor.Microseconds()
	} else {
		m.says = false // also where it is not acknowledged, and comes late
	}
	return r
}

// Kept takes a row that was written, by a statement that ran from began to now.
func (m *Membership) Kept(r MemberRow, began, now Moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.member(now) { // others may have assumed that it ended
		m.there, m.may, m.found, m.since = now, 0, 0, 0
		r.Trust = 0 // said for what is over
	}
	m.beaten, m.says = began, r.Trust > 0
}

// member reports whether no other process can assume that this one ended.
func (m *Membership) member(now Moment) bool {
	return m.beaten != 0 && now <= m.beaten.Add(m.pace.MemberFor)
}

// Check takes all rows, read by a statement that ran from began to now. It returns those of
// processes that are gone.
func (m *Membership) Check(rows []MemberRow, began, now Moment) (gone []MemberRow) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.checked == 0 || began > m.checked.Add(m.pace.TrustFor) {
		clear(m.others) // they may have beaten meanwhile
	}
	m.checked = now
	here, alone, trust := false, true, int64(0)
	seen := map[string]*member{}
	for _, r := range rows {
		if r.ID == m.ID {
			here = true
			continue
		}
		o := m.others[r.ID]
		if o == nil || o.beat != r.Beat {
			o = &member{beat: r.Beat, since: now}
		}
		seen[r.ID] = o
		if began > o.since.Add(m.pace.GoneAfter) {
			gone = append(gone, r)
			continue
		}
		alone, trust = false, max(trust, r.Trust)
	}
	m.others = seen
	m.conclude(here && alone, trust, began, now)
	return gone
}

// conclude derives from a check what this process may do.
func (m *Membership) conclude(alone bool, trust int64, began, now Moment) {
	if m.there == 0 || began < m.there || !m.member(now) {
		m.found, m.since = 0, 0
		return // the others may not have seen its row
	}
	if m.may == 0 { // a tenth more, in case its clock runs faster than theirs
		wait := time.Duration(trust) * time.Microsecond
		m.may = m.there.Add(wait + wait/10)
	}
	switch {
	case !alone:
		m.found, m.since = 0, 0
	case m.since == 0 || now > m.found.Add(m.pace.TrustFor):
		m.found, m.since = began, now
		if !m.says {
			m.since = 0 // the next check counts, once the row says so
		}
	default:
		m.found = began
	}
}

// MayWrite reports whether this process may write, and otherwise when to ask again; 0: that is not
// known.
func (m *Membership) MayWrite(now Moment) (ok bool, at Moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.member(now) || m.may == 0 {
		return false, 0
	}
	return now >= m.may, m.may
}

// Alone returns since when no other process can have written; 0 where one may be writing.
func (m *Membership) Alone(now Moment) Moment {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.found == 0 || now > m.found.Add(m.pace.TrustFor) || !m.member(now) || now < m.may {
		return 0
	}
	return m.since
}

// FoundNoOther reports whether the last check found no other.
func (m *Membership) FoundNoOther() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.found != 0
}

// Lapse forgets all: the process does not know how much time has passed.
func (m *Membership) Lapse() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.beaten, m.found, m.since = 0, 0, 0
	clear(m.others)
}
