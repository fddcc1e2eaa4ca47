package intake_test

import (
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
	"github.com/andonhq/andon/internal/wallclock"
)

// machine is a machine whose clock can be set, with a program that can be restarted.
type machine struct {
	t      *testing.T
	disk   andon.Store
	wall   andon.Time
	passed time.Duration

	clock *wallclock.Clock
	store andon.Store
	in    *intake.Intake
}

func (m *machine) now() andon.Time { return m.wall }

// start starts the program again: the time that has passed starts again, too.
func (m *machine) start() {
	m.t.Helper()
	m.passed = 0
	record, err := m.disk.Tenant(m.t.Context(), andon.DefaultTenant)
	if err != nil {
		m.t.Fatal(err)
	}
	passed := func() time.Duration { return m.passed }
	m.clock = wallclock.New(m.now, passed, record.Clock, nil)
	m.store = wrap.RetainBelieved(m.disk, m.now, m.clock.Believed)
	m.in = intake.New(m.store, intake.Options{Now: m.now, Clock: m.clock})
}

// goes lets time pass, with sweeps, and then sets the clock forward, or back.
func (m *machine) goes(hours, forward int) {
	m.t.Helper()
	for range hours {
		m.sweep()
		m.wall = m.wall.Add(andon.DurationOf(time.Hour))
		m.passed += time.Hour
	}
	m.wall += andon.Time(time.Duration(forward) * time.Hour / time.Microsecond)
	m.sweep()
}

func (m *machine) sweep() {
	m.t.Helper()
	if err := m.in.Expire(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	if err := m.in.KeepClock(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
}

// kept returns how many readings there are, as they are shown and on the disk.
func (m *machine) kept() (shown, there int) {
	m.t.Helper()
	count := func(s andon.Store) (n int) {
		q := andon.ReadingQuery{Limit: 100}
		for _, err := range s.DeviceReadings(m.t.Context(), andon.DefaultTenant, "d", q) {
			if err != nil {
				m.t.Fatal(err)
			}
			n++
		}
		return n
	}
	return count(m.store), count(m.disk)
}

func (m *machine) expect(when string, shown, there int) {
	m.t.Helper()
	if s, d := m.kept(); s != shown || d != there {
		m.t.Errorf("%s: %d readings are shown and %d there, want %d and %d",
			when, s, d, shown, there)
	}
}

// newMachine has a reading of today and one of 20 days ago; readings are kept for 30.
func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, disk: memstore.New(), wall: andon.DayStart(20_000)}
	m.start()
	for _, days := range []uint32{0, 20} {
		r := andon.Reading{
			Device: "d", Time: andon.DayStart(20_000 - days),
			Metrics: andon.Metrics{{Name: "a", Value: 1}},
		}
		err := m.disk.AppendReadings(t.Context(), andon.DefaultTenant, m.wall, []andon.Reading{r})
		if err != nil {
			t.Fatal(err)
		}
	}
	m.goes(2, 0)
	return m
}

const month = 31 * 24

// TestClockThatJumpedDeletesNothing sets the clock a month ahead for an hour, and back.
func TestClockThatJumpedDeletesNothing(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		m := newMachine(t)
		m.expect("before", 2, 2)
		m.goes(0, month)
		m.expect("ahead", 0, 2) // hidden, and there
		if restarts {
			m.start()
		}
		m.goes(1, 0)
		change := func(t *andon.Tenant) error {
			t.MaxFuture++
			return nil
		}
		if _, _, err := m.in.PutTenant(t.Context(), andon.DefaultTenant, change); err != nil {
			t.Fatal(err)
		}
		m.goes(0, -month)
		m.expect("set back", 2, 2)
		m.goes(9*24, 0)
		m.expect("nine days later", 2, 2)
		m.goes(2*24, 0)
		m.expect("eleven days later", 1, 1)
	}
}

// TestClockThatStandsIsBelieved leaves the clock where it jumped to, or has it confirmed.
func TestClockThatStandsIsBelieved(t *testing.T) {
	for _, confirmed := range []bool{false, true} {
		m := newMachine(t)
		m.wall = m.wall.Add(andon.DurationOf(month * time.Hour)) // while the program does not run
		m.start()
		m.sweep()
		m.expect("started", 0, 2)
		if m.clock.Confirm(m.wall.Add(-andon.DurationOf(48 * time.Hour))); confirmed {
			m.clock.Confirm(m.wall)
		} else {
			m.goes(12, 0) // what was said is another time, and confirms nothing
			m.start()     // the day goes on
			m.goes(13, 0)
		}
		m.sweep()
		m.expect("believed", 0, 0)
	}
}

// TestShorterRetentionIsSweptAtOnce asks for a sweep only where less is kept.
func TestShorterRetentionIsSweptAtOnce(t *testing.T) {
	m := newMachine(t)
	for _, days := range []andon.Retention{40, 10} {
		_, _, err := m.in.PutTenant(t.Context(), andon.DefaultTenant, func(t *andon.Tenant) error {
			t.Readings = days * andon.Retention(24*time.Hour/time.Microsecond)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		due := false
		select {
		case <-m.in.Wanted():
			due = true
		default:
		}
		if due != (days == 10) {
			t.Errorf("kept for %d days: due %t", days, due)
		}
	}
}
