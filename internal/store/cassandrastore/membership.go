package cassandrastore

import (
	"sync"
	"time"
)

// A process that knows to be the only one that writes need not look at a device again before each
// append: what it saw and wrote itself is all there is. Each process that writes has a row in the
// table of processes, in which it counts up a beat, and looks at the rows of the others:
//
//   - It writes only while its own beat was kept within memberFor, and only once everybody who may
//     have held himself for alone when its row was new has stopped.
//   - It holds itself for alone for trustFor from the beginning of a look that found nobody else,
//     and says in its row, before it does, that it may.
//   - A row whose beat has not changed for goneAfter is of a process that ended without a word.
//
// All of these are measured by the own clock of each process, so neither the clocks of machines nor
// those of nodes need agree, and a process that was paused finds its time over. Beats and looks go
// to a majority of all replicas, so what one acknowledged the next look sees.

// pace is how often and how long. One that trusts for no time never holds itself for alone.
type pace struct {
	beat      time.Duration // from one beat and look to the next
	trustFor  time.Duration
	memberFor time.Duration
	goneAfter time.Duration // longer than memberFor
}

var usualPace = pace{
	beat: time.Second, trustFor: 3 * time.Second,
	memberFor: 15 * time.Second, goneAfter: 30 * time.Second,
}

// moment is a time on the process's own clock; 0 is none.
type moment time.Duration

func (m moment) add(d time.Duration) moment { return m + moment(d) }

// membership is what one process knows of itself and of the others. It asks nobody and knows no
// clock: what was done is told to it with when.
type membership struct {
	id   string
	pace pace

	mu     sync.Mutex
	beat   int64
	beaten moment // when the newest beat that was kept began
	there  moment // since when the row is known to be there without a gap
	says   bool   // that row says that this process may hold itself for alone
	may    moment // from when on it may write
	found  moment // when the newest look began that found nobody else
	since  moment // since when nobody else can have written
	others map[string]*member
	looked moment // when the newest look ended
}

// member is another process as it was last seen.
type member struct {
	beat  int64
	since moment // when that beat was first seen
}

// memberRow is a row of the table.
type memberRow struct {
	id      string
	beat    int64
	trust   int64 // how many µs it may hold itself for alone; 0 where it does not
	written int64 // the write timestamp of beat
}

func newMembership(id string, p pace) *membership {
	return &membership{id: id, pace: p, others: map[string]*member{}}
}

// next returns the row to be written.
func (m *membership) next() memberRow {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.beat++
	r := memberRow{id: m.id, beat: m.beat}
	// It is said as long as it is true, and before it becomes so: when the last look found nobody.
	if m.found != 0 {
		r.trust = m.pace.trustFor.Microseconds()
	} else {
		m.says = false // also where it is not acknowledged, and comes late
	}
	return r
}

// kept is told that a row was written, by a statement that was under way from began to now.
func (m *membership) kept(r memberRow, began, now moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.member(now) { // others may have taken it for gone
		m.there, m.may, m.found, m.since = now, 0, 0, 0
		r.trust = 0 // said for what is over
	}
	m.beaten, m.says = began, r.trust > 0
}

// member reports whether nobody takes this process for gone.
func (m *membership) member(now moment) bool {
	return m.beaten != 0 && now <= m.beaten.add(m.pace.memberFor)
}

// look is told all rows, read by a statement that was under way from began to now. It returns those
// of processes that are gone.
func (m *membership) look(rows []memberRow, began, now moment) (gone []memberRow) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.looked == 0 || began > m.looked.add(m.pace.trustFor) {
		clear(m.others) // nobody saw whether they beat meanwhile
	}
	m.looked = now
	here, alone, trust := false, true, int64(0)
	seen := map[string]*member{}
	for _, r := range rows {
		if r.id == m.id {
			here = true
			continue
		}
		o := m.others[r.id]
		if o == nil || o.beat != r.beat {
			o = &member{beat: r.beat, since: now}
		}
		seen[r.id] = o
		if began > o.since.add(m.pace.goneAfter) {
			gone = append(gone, r)
			continue
		}
		alone, trust = false, max(trust, r.trust)
	}
	m.others = seen
	m.conclude(here && alone, trust, began, now)
	return gone
}

// conclude draws from a look what this process may do.
func (m *membership) conclude(alone bool, trust int64, began, now moment) {
	if m.there == 0 || began < m.there || !m.member(now) {
		m.found, m.since = 0, 0
		return // the others may not have seen its row
	}
	if m.may == 0 { // a tenth more, in case its clock runs faster than theirs
		wait := time.Duration(trust) * time.Microsecond
		m.may = m.there.add(wait + wait/10)
	}
	switch {
	case !alone:
		m.found, m.since = 0, 0
	case m.since == 0 || now > m.found.add(m.pace.trustFor):
		m.found, m.since = began, now
		if !m.says {
			m.since = 0 // the next look counts, once the row says so
		}
	default:
		m.found = began
	}
}

// mayWrite reports whether this process may write, and otherwise when to ask again; 0: that is not
// known.
func (m *membership) mayWrite(now moment) (ok bool, at moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.member(now) || m.may == 0 {
		return false, 0
	}
	return now >= m.may, m.may
}

// alone returns since when nobody else can have written; 0 where somebody may be writing.
func (m *membership) alone(now moment) moment {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.found == 0 || now > m.found.add(m.pace.trustFor) || !m.member(now) || now < m.may {
		return 0
	}
	return m.since
}

// foundNobody reports whether the last look found nobody else.
func (m *membership) foundNobody() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.found != 0
}

// lapse is for when the process does not know how much time went by.
func (m *membership) lapse() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.beaten, m.found, m.since = 0, 0, 0
	clear(m.others)
}
