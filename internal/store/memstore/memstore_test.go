package memstore_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/storetest"
)

func open(*testing.T) andon.Store { return memstore.New() }

func TestStore(t *testing.T) { storetest.Run(t, open) }

// TestHistories compares memstore with itself: it tests that histories hold where nothing is wrong.
func TestHistories(t *testing.T) {
	storetest.Histories(t, open, storetest.Options{Rounds: 5, Abort: true, Parallel: true})
}

// minute is a time that is easy to read.
func minute(n andon.Time) andon.Time { return andon.MinTime + n*60_000_000 }

// log makes entries of device d from words such as "1 NORMAL", an entry at minute 1 ... 9.
func log(entries ...string) []andon.Event {
	var events []andon.Event
	for _, text := range entries {
		at, state, _ := strings.Cut(text, " ")
		events = append(events, andon.Event{
			Device: "d", Time: minute(andon.Time(at[0] - '0')), State: andon.State(state),
		})
	}
	return events
}

// TestDevice is what a device shows, worked out by hand.
func TestDevice(t *testing.T) {
	const received = andon.Time(999 * 86_400_000_000)
	for _, c := range []struct {
		name string
		log  []andon.Event
		want andon.Device
	}{
		{"one normal entry", log("1 NORMAL"), andon.Device{
			State: "NORMAL", Time: minute(1), Since: minute(1),
		}},
		{"an incident of two states", log("1 NORMAL", "2 WARNING1", "3 WARNING2", "4 WARNING2"),
			andon.Device{
				State: "WARNING2", Severity: 48, Time: minute(4), Since: minute(3),
				IncidentSince: minute(2),
			}},
		{"the latest to arrive is not the newest", log("5 WARNING1", "3 NORMAL", "4 WARNING1"),
			andon.Device{
				State: "WARNING1", Severity: 32, Time: minute(5), Since: minute(4),
				IncidentSince: minute(4),
			}},
		{"outside the set", log("1 WARNING1", "2 ODD"), andon.Device{
			State: "ODD", Severity: 16, Time: minute(2), Since: minute(2),
			IncidentSince: minute(1),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := memstore.New()
			for _, e := range c.log {
				err := s.Append(t.Context(), andon.DefaultTenant, received, []andon.Event{e})
				if err != nil {
					t.Fatal(err)
				}
			}
			got, err := s.Device(t.Context(), andon.DefaultTenant, "d")
			c.want.ID, c.want.Received = "d", received
			if d := cmp.Diff(c.want, got); d != "" || err != nil {
				t.Errorf("(-want +got):\n%s%v", d, err)
			}
		})
	}
}

// TestKeepsNoBuffer: what is kept does not change with the buffer that it was read from.
func TestKeepsNoBuffer(t *testing.T) {
	s := memstore.New()
	metrics := andon.Metrics{{Name: "a", Value: 1}}
	readings := []andon.Reading{{Device: "d", Time: minute(1), Metrics: metrics}}
	if err := s.AppendReadings(t.Context(), andon.DefaultTenant, minute(1), readings); err != nil {
		t.Fatal(err)
	}
	metrics[0].Value = 2
	for range 2 {
		got, err := s.LatestReadings(t.Context(), andon.DefaultTenant, []andon.DeviceID{"d"}, 0)
		if err != nil || got[0].Metrics[0].Value != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		got[0].Metrics[0].Value = 3
	}
}

// TestFeedBeforeAnyoneAsked: entries and changes are there from the first one on, also where the
// feed is asked for later.
func TestFeedBeforeAnyoneAsked(t *testing.T) {
	s, ctx, id := memstore.New(), t.Context(), andon.DefaultTenant
	for i, state := range []andon.State{"NORMAL", "WARNING1", "NORMAL"} {
		e := andon.Event{Device: "d", Time: andon.MinTime + andon.Time(i), State: state}
		if err := s.Append(ctx, id, e.Time, []andon.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	came, err := s.Arrivals(ctx, id, andon.ArrivalQuery{Limit: 10})
	if err != nil || len(came.Items) != 3 {
		t.Fatalf("%d entries have come: %v", len(came.Items), err)
	}
	changes := 0
	for _, err := range s.Changes(ctx, id, came.Items[0].Position) {
		if changes++; err != nil {
			t.Error(err)
		}
	}
	if changes != 2 {
		t.Errorf("%d changes come after the first entry, want 2", changes)
	}
}
