package pebblestore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// TestRowsAreAsLongAsTheirEvents: a request of many devices and of many long names takes no more
// in the log than about what was sent.
func TestRowsAreAsLongAsTheirEvents(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	const devices, names = 5000, 125
	sent := 0
	var events []andon.Event
	for n := range devices {
		e := andon.Event{
			Device: andon.DeviceID(fmt.Sprintf("d%05d", n)), Time: andon.MinTime, State: "S",
			Operator: andon.PersonID(strings.Repeat("x", andon.MaxIDBytes-3) +
				fmt.Sprintf("%03d", n%names)),
		}
		sent += len(e.Device) + len(e.State) + len(e.Operator)
		events = append(events, e)
	}
	if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
		t.Fatal(err)
	}
	if rows := s.checkpoints.grown.Load(); rows > 3*int64(sent) {
		t.Errorf("the rows of %d bytes of events have %d", sent, rows)
	}
}
