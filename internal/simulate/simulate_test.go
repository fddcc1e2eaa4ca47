package simulate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/simulate"
)

var start, _ = andon.ParseTime("2025-12-04T00:00:00Z")

// aDay returns what arrives in a day of a fleet.
func aDay(seed uint64) (events []andon.Event) {
	f := simulate.New(simulate.Options{Seed: seed, Start: start})
	for range 288 {
		events = append(events, f.Round()...)
	}
	return events
}

func TestSameSeedSameMessages(t *testing.T) {
	if diff := cmp.Diff(aDay(1), aDay(1)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(aDay(1), aDay(2)) {
		t.Error("two seeds gave the same messages")
	}
}

// TestLifelike: each thing that the fleet is there to show occurs in a day, with any seed.
func TestLifelike(t *testing.T) {
	for seed := range uint64(10) {
		seen := observe(t, aDay(seed))
		for what, n := range map[string]int{
			"late": seen.late, "doubled": seen.doubled, "silent": seen.silences,
			"escalated": seen.escalated, "in a storm": seen.storms, "grave": seen.states["WARNING4"],
		} {
			if n == 0 {
				t.Errorf("seed %d: nothing is %s", seed, what)
			}
		}
		normal := float64(seen.states["NORMAL"]) / float64(seen.entries)
		if len(seen.newest) != 60 || normal < 0.6 || normal > 0.99 {
			t.Errorf("seed %d: %d devices, %.2f of the entries normal", seed, len(seen.newest), normal)
		}
	}
}

type observed struct {
	late, doubled, silences, escalated, storms, entries int
	newest                                              map[andon.DeviceID]andon.Time
	states                                              map[andon.State]int
}

func observe(t *testing.T, events []andon.Event) observed {
	t.Helper()
	const round = 300_000_000
	o := observed{newest: map[andon.DeviceID]andon.Time{}, states: map[andon.State]int{}}
	was := map[andon.EventKey]bool{}
	failures := map[andon.Time]int{} // warnings in a round
	for i := range events {
		e := &events[i]
		if err := e.Validate(); err != nil {
			t.Fatal(err)
		}
		key := e.Key(nil)
		if was[key] {
			o.doubled++
			continue
		}
		was[key] = true
		o.entries++
		o.states[e.State]++
		if e.EscalatedTo != "" {
			o.escalated++
		}
		last := o.newest[e.Device]
		if e.Time < last {
			o.late++
		}
		if last != 0 && e.Time.Sub(last) > 3*round {
			o.silences++
		}
		if e.State != "NORMAL" {
			failures[e.Time/round]++
		}
		o.newest[e.Device] = max(last, e.Time)
	}
	for _, n := range failures {
		if n > 15 {
			o.storms++
		}
	}
	return o
}

// TestNothingFromTheFuture: what arrived by Now is of before Now.
func TestNothingFromTheFuture(t *testing.T) {
	f := simulate.New(simulate.Options{Seed: 3, Start: start, Devices: 7})
	for range 500 {
		for _, e := range f.Round() {
			if e.Time >= f.Now() || e.Time < start {
				t.Fatalf("%s at %s", e.Time, f.Now())
			}
		}
	}
}
