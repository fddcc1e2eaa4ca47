package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

// TestFleetIsKnown: at the end of the past so many devices are in each state, the same ones for the
// same seed.
func TestFleetIsKnown(t *testing.T) {
	for _, c := range []struct {
		devices int
		want    []home
	}{
		{10, []home{{"WARNING4", 2}}},
		{3_000, []home{{"WARNING4", 100}, {"WARNING3", 750}}},
		{70_000, []home{{"WARNING4", 100}, {"WARNING3", 10_000}, {"WARNING2", 17_500}}},
	} {
		f := newFleet(1, c.devices, 2)
		if diff := cmp.Diff(c.want, f.homes, cmp.AllowUnexported(home{})); diff != "" {
			t.Error(diff)
		}
		last := Part{Devices: c.devices, Round: f.past - 1, Rounds: 1}
		events := f.events(last)
		counts := map[andon.State]int{}
		for i := range events {
			counts[events[i].State]++
		}
		if diff := cmp.Diff(f.counts(), counts); diff != "" {
			t.Errorf("%d devices: %s", c.devices, diff)
		}
		if !slices.Equal(events, newFleet(1, c.devices, 2).events(last)) {
			t.Error("the same seed makes another fleet")
		}
		if slices.Equal(events, newFleet(2, c.devices, 2).events(last)) {
			t.Error("another seed makes the same fleet")
		}
	}
}

// TestPartsAreBatches: whatever is written is in the order that a store takes, is valid, and later
// than what was written before of the device.
func TestPartsAreBatches(t *testing.T) {
	b, err := New(Options{Now: time.Now, Devices: 105, Events: 105, Writers: 1, Batch: 100,
		Duration: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range b.Writes() {
		newest := map[andon.DeviceID]andon.Time{}
		for n := range int64(400) {
			part := l.Part(n)
			events := b.fleet.events(part)
			if len(events) != l.Items {
				t.Fatalf("%s: %d events", l.Name, len(events))
			}
			for i := range events {
				e := &events[i]
				if err := e.Validate(); err != nil {
					t.Fatal(err)
				}
				if i > 0 && andon.CompareInBatch(&events[i-1], e) >= 0 {
					t.Fatalf("%s: %v after %v", l.Name, e, events[i-1])
				}
				if e.Time <= newest[e.Device] {
					t.Fatalf("%s: %v is not later than %s", l.Name, e, newest[e.Device])
				}
				newest[e.Device] = e.Time
			}
		}
		if want := 105 / l.Part(0).Devices * l.Part(0).Devices; len(newest) != want {
			t.Errorf("%s: %d devices report, not %d", l.Name, len(newest), want)
		}
	}
}

func TestHistogram(t *testing.T) {
	var all, part histogram
	if all.quantile(0.5) != 0 {
		t.Error("a time where nothing was counted")
	}
	for i := 1; i <= 100_000; i++ {
		h := &all
		if i%2 == 0 {
			h = &part
		}
		h.add(time.Duration(i) * time.Microsecond)
	}
	all.merge(&part)
	for q, want := range map[float64]time.Duration{
		0: time.Microsecond, 0.5: 50 * time.Millisecond, 0.99: 99 * time.Millisecond,
		1: 100 * time.Millisecond,
	} {
		got := all.quantile(q)
		if diff := (got - want).Abs(); diff > want/100 {
			t.Errorf("quantile %g: got %s, want %s", q, got, want)
		}
	}
}

// TestHistogramSlots: every length of time has a slot, and what is read back is near.
func TestHistogramSlots(t *testing.T) {
	for d := time.Duration(1); d > 0; d += d/50 + 1 {
		if got := slotMiddle(slotOf(d)); (got - d).Abs() > d/100 {
			t.Fatalf("%d is read back as %d", d, got)
		}
	}
	for d, want := range map[time.Duration]int{-1: 0, 0: 0, 1<<63 - 1: histogramSlots - 1} {
		if got := slotOf(d); got != want {
			t.Errorf("slot of %d: %d, not %d", d, got, want)
		}
	}
}

// TestTheMixedFleet: it has the shares that it says, and its events follow from the seed.
func TestTheMixedFleet(t *testing.T) {
	const devices, events = 1000, 100_000
	o := Options{
		Now: time.Now, Seed: 7, Devices: devices, Events: events, Writers: 1, Batch: 1000,
		Duration: 1, Escalate: true, Mixed: true,
	}
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	busiest := map[andon.DeviceID]bool{}
	for _, device := range b.mixed.order[:devices/busiestShare] {
		busiest[b.fleet.devices[device]] = true
	}
	type identity struct {
		device andon.DeviceID
		at     andon.Time
		state  andon.State
	}
	seen, newest := map[identity]bool{}, map[andon.DeviceID]andon.Time{}
	count := map[string]int{}
	for n := range events {
		e := b.mixed.event(n)
		again := identity{e.Device, e.Time, e.State}
		late := newest[e.Device] - e.Time
		switch {
		case seen[again]:
			count["repeated"]++
		case late > 0 && late < 2*andon.Time(latest):
			count["late"]++
		case late > 0:
			t.Fatalf("an event is %d µs late", late)
		}
		seen[again], newest[e.Device] = true, max(newest[e.Device], e.Time)
		if busiest[e.Device] {
			count["busiest"]++
		}
		if e.EscalatedTo != "" {
			count["escalated"]++
		}
		count[string(e.State)]++
	}
	for what, share := range map[string]float64{
		"repeated": 0.01, "late": 0.025, "busiest": 0.505, "escalated": 0.02, "NORMAL": 0.9,
		"WARNING1": 0.05, "WARNING4": 0.005,
	} {
		got := float64(count[what]) / events
		if got < share*0.85 || got > share*1.15 {
			t.Errorf("%s: %.4f, want about %.4f", what, got, share)
		}
	}
	first, again := b.mixed.events(70_000, 1000), b.mixed.events(70_000, 1000)
	if !slices.Equal(first, again) {
		t.Error("the same events are others the second time")
	}
}
