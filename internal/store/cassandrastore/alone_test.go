package cassandrastore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/andonhq/andon"
)

// TestAlone: a process that is alone reads nothing before it writes and nothing of what devices
// show. Another one that begins to write is seen at once, each time it comes.
func TestAlone(t *testing.T) {
	t.Parallel()
	o := newKeyspace(t, "buckets")
	heard, observed := &sent{statements: map[string]int{}}, o
	observed.Observe = heard
	one := open(t, observed)
	if err := one.counts.Await(t.Context()); err != nil { // it has read all devices once
		t.Fatal(err)
	}
	at := realClock()
	report := func(s *Store, state andon.State) {
		t.Helper()
		// A device of which nothing was heard for a while is reviewed, because it was read.
		at = max(at+1000, realClock())
		events := []andon.Event{{Device: "press", State: state, Time: at, Message: string(state)}}
		if err := appendAgain(t.Context(), s, andon.DefaultTenant, at, events); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(s *Store, want andon.State) {
		t.Helper()
		d, err := s.Device(t.Context(), andon.DefaultTenant, "press")
		if err != nil || d.State != want || d.Message != string(want) || d.Received != at {
			t.Errorf("it shows %+v, %v, want %s", d, err, want)
		}
		filter, _ := andon.ParseStateFilter(string(want))
		q := andon.DeviceQuery{States: filter, Limit: 10}
		if all := gather(t, s.Devices(t.Context(), andon.DefaultTenant, q)); len(all) != 1 {
			t.Errorf("%d devices are in %s, want 1", len(all), want)
		}
	}
	report(one, "NORMAL")
	for _, state := range []andon.State{"WARNING1", "WARNING2", "WARNING3"} {
		eventually(t, func() error {
			awaitAlone(t, one)
			report(one, "NORMAL")
			shows(one, "NORMAL") // what it knows from before it was alone is read again
			since := one.processes.Alone()
			read := readings(heard, func() {
				for range 3 {
					report(one, "NORMAL")
					shows(one, "NORMAL")
				}
			})
			if since == 0 || one.processes.Alone() != since {
				return errors.New("it was not alone all the time")
			}
			if len(read) > 0 { // else than a review of what was written before
				return fmt.Errorf("it is alone, and reads %q", read)
			}
			return nil
		})
		two := begin(t, o)
		report(two, state)
		shows(one, state)
		shows(two, state)
		report(one, "NORMAL")
		shows(two, "NORMAL")
		end(t, two)
	}
}

// awaitAlone waits until a process holds itself for alone.
func awaitAlone(t *testing.T, s *Store) {
	t.Helper()
	eventually(t, func() error {
		if s.processes.Alone() == 0 {
			return errors.New("it does not hold itself for alone")
		}
		return nil
	})
}

// readings returns what is read of devices while do runs, but for how a run began.
func readings(s *sent, do func()) (read []string) {
	s.reset()
	do()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(s.statements)) {
		if what == "SELECT:latest_by_device" {
			read = append(read, what)
		}
	}
	return read
}
