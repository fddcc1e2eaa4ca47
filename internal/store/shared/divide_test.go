package shared

import (
	"fmt"
	"testing"

	"github.com/andonhq/andon"
)

// TestParts: the parts of a request are all of it, and none divides a device.
func TestParts(t *testing.T) {
	var events []andon.Event
	for n := range 3 * eventsAtOnce {
		// Devices of 1, 7 and 2,500 events in turn.
		device := n / 2508 * 3
		if rest := n % 2508; rest > 0 {
			device += 1 + min(rest/8, 1)
		}
		events = append(events, andon.Event{Device: andon.DeviceID(fmt.Sprintf("%03d", device)),
			Time: andon.Time(n)})
	}
	seen, last := 0, andon.DeviceID("")
	for part := range Parts(events) {
		if part[0].Device == last {
			t.Errorf("device %s is divided at event %d", last, seen)
		}
		devices := 0
		for of := range ByDevice(part, OfEvent) {
			devices++
			for _, e := range of {
				if e.Device != of[0].Device || e.Time != andon.Time(seen) {
					t.Fatalf("event %d is %+v among those of %s", seen, e, of[0].Device)
				}
				seen++
			}
		}
		if len(part) > eventsAtOnce+2500 || devices == 0 {
			t.Errorf("a part has %d events of %d devices", len(part), devices)
		}
		last = part[len(part)-1].Device
	}
	if seen != len(events) {
		t.Errorf("%d events of %d", seen, len(events))
	}
}
