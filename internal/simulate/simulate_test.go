package simulate_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/simulate"
)

var start, _ = andon.ParseTime("2025-12-04T00:00:00Z")

const (
	every  = simulate.DefaultEvery
	rounds = 288 // of a day
)

// live lets a fleet live for a time, looking every so often, and returns all that arrived.
func live(o simulate.Options, forTime, step andon.Duration) (all simulate.Messages) {
	o.Start = start
	f, end := simulate.New(o), start.Add(forTime)
	for now := start; now < end; {
		now = min(now.Add(step), end)
		m := f.Advance(now)
		all.Events = append(all.Events, m.Events...)
		all.Readings = append(all.Readings, m.Readings...)
		all.Assignments = append(all.Assignments, m.Assignments...)
		all.Escalations = append(all.Escalations, m.Escalations...)
	}
	return all
}

func TestSameSeedSameMessages(t *testing.T) {
	const day = rounds * every
	one := live(simulate.Options{Seed: 1, Devices: 60}, day, every)
	same(t, one, live(simulate.Options{Seed: 1, Devices: 60}, day, every))
	other := live(simulate.Options{Seed: 2, Devices: 60}, day, every)
	if slices.Equal(one.Events, other.Events) {
		t.Error("two seeds gave the same messages")
	}
}

func same(t *testing.T, want, got simulate.Messages) {
	t.Helper()
	if reflect.DeepEqual(want, got) { // much faster than cmp, and so it should be
		return
	}
	t.Error(cmp.Diff(want, got))
}

// TestStepsDoNotMatter: a caller who looks more often gets the same, only earlier.
func TestStepsDoNotMatter(t *testing.T) {
	const hours = 60 * every
	o := simulate.Options{Seed: 4, Devices: 40}
	want := live(o, hours, every)
	for _, step := range []andon.Duration{hours, every / 7, 11 * every / 3} {
		same(t, want, live(o, hours, step))
	}
}

// TestRoundsScale: a fleet with short rounds is the same fleet, only faster.
func TestRoundsScale(t *testing.T) {
	slow := live(simulate.Options{Seed: 2, Devices: 40}, 30*every, every)
	fast := live(simulate.Options{Seed: 2, Devices: 40, Every: every / 60}, 30*every/60, every/60)
	if a, b := len(slow.Events), len(fast.Events); a < 1000 || b < a*9/10 || b > a*11/10 {
		t.Errorf("%d events in rounds of 5 minutes, %d in rounds of 5 seconds", a, b)
	}
	if last := fast.Events[len(fast.Events)-1].Time; last.Sub(start) > 30*every/60 {
		t.Errorf("the fast fleet's newest entry is of %s", last)
	}
}

// TestNothingFromTheFuture: what is returned is of before the time that was advanced to.
func TestNothingFromTheFuture(t *testing.T) {
	f := simulate.New(simulate.Options{Seed: 3, Start: start, Devices: 7})
	for i := range andon.Duration(2000) {
		now := start.Add((i + 1) * every / 3)
		m := f.Advance(now)
		for _, e := range m.Events {
			if e.Time >= now || e.Time < start {
				t.Fatalf("an event of %s at %s", e.Time, now)
			}
		}
		for _, r := range m.Readings {
			if r.Time >= now || r.Time < start {
				t.Fatalf("a reading of %s at %s", r.Time, now)
			}
		}
	}
	if m := f.Advance(start); m.Events != nil || m.Readings != nil {
		t.Error("going back returned something")
	}
}

// TestAllIsValid: a server takes all of it.
func TestAllIsValid(t *testing.T) {
	m := live(simulate.Options{Seed: 5, Devices: 200}, 100*every, every)
	for i := range m.Events {
		if err := m.Events[i].Validate(); err != nil {
			t.Fatalf("%+v: %v", m.Events[i], err)
		}
	}
	for i := range m.Readings {
		if err := m.Readings[i].Validate(); err != nil {
			t.Fatalf("%+v: %v", m.Readings[i], err)
		}
		if _, err := m.Readings[i].Metrics.Sorted(); err != nil {
			t.Fatalf("%+v: %v", m.Readings[i], err)
		}
	}
}

// TestPeopleActInTime: who is assigned and to whom it is escalated has the time at which it came.
func TestPeopleActInTime(t *testing.T) {
	f := simulate.New(simulate.Options{Seed: 6, Start: start, Devices: 120})
	assigned, escalated := 0, 0
	for i := range andon.Duration(rounds / 3) {
		from, to := start.Add(i*every), start.Add((i+1)*every)
		m := f.Advance(to)
		for _, a := range m.Assignments {
			if a.From < from || a.From >= to {
				t.Errorf("%+v arrived from %s to %s", a, from, to)
			}
		}
		for _, e := range m.Escalations {
			if e.At < from || e.At >= to || e.At <= e.Time {
				t.Errorf("%+v arrived from %s to %s", e, from, to)
			}
		}
		assigned, escalated = assigned+len(m.Assignments), escalated+len(m.Escalations)
	}
	if assigned == 0 || escalated == 0 {
		t.Errorf("%d assignments, %d escalations", assigned, escalated)
	}
}

func BenchmarkAdvance(b *testing.B) {
	f := simulate.New(simulate.Options{Seed: 1, Start: start, Devices: 10_000})
	now, events := start, 0
	for b.Loop() {
		now = now.Add(every)
		events += len(f.Advance(now).Events)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(events), "ns/event")
}
