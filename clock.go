package andon

// ClockMark is what is remembered of a clock, so that one which jumped ahead deletes nothing. What
// is deleted because it has expired can't be had back, so such a clock is not believed for that
// until it has stood for a day, or a person confirms it. The zero value knows of no clock yet.
type ClockMark struct {
	Believed Time `json:"believed,omitempty"` // the latest time that was believed
	Doubted  Time `json:"doubted,omitempty"`  // what it said when it had jumped; 0: it has not
	Last     Time `json:"last,omitempty"`     // what the clock said when it was looked at last
}

const (
	// clockJump is by how much a clock may run ahead of the time that has passed.
	clockJump = 3600 * second
	// clockStands is how long a clock that jumped must go on as it is. A program that did not run
	// for so long can't tell whether its clock jumped meanwhile.
	clockStands = day
)

// Look returns the mark once the clock says now, with so much time passed since it was looked at
// last, by a clock that can't be set. How much has passed is not known to a program that has just
// started: then it is negative, and up to a day is taken as passed.
func (m ClockMark) Look(now Time, passed Duration) ClockMark {
	if m.Believed == 0 {
		return ClockMark{Believed: now, Last: now}
	}
	may := clockJump
	if passed < 0 {
		may, passed = clockStands, 0
	}
	believed, expected := m.Believed.Add(passed), m.Last.Add(passed)
	stepped := now > expected.Add(may) || now.Add(clockJump) < expected
	switch {
	case m.Doubted == 0 && now > max(believed, expected).Add(may):
		m.Doubted = now
	case m.Doubted == 0 || now <= believed.Add(clockJump): // it is right, or right again
		m.Doubted, believed = 0, max(m.Believed, now)
	case stepped:
		m.Doubted = now
	case now >= m.Doubted.Add(clockStands):
		m.Doubted, believed = 0, now
	}
	m.Believed, m.Last = believed, now
	return m
}

// Confirm returns the mark once a person has said that now is right.
func (m ClockMark) Confirm(now Time) ClockMark {
	return ClockMark{Believed: max(m.Believed, now), Last: now}
}
