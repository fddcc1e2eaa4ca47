package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// TestRestoreOfWhatIsShown: the escalation of an entry that was given back is restored where the
// device shows that entry, or its escalation, and left out where it does not.
func TestRestoreOfWhatIsShown(t *testing.T) {
	const id, device = andon.DefaultTenant, "press-7"
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	ctx := t.Context()
	at := func(n int) andon.Time { return andon.MinTime + andon.Time(n) }
	var events []andon.Event
	for n := range 3 {
		events = append(events, andon.Event{Device: device, Time: at(n), State: "WARNING1"})
	}
	events[0].EscalatedTo = "Sara"
	if err := s.Append(ctx, id, 1, events); err != nil {
		t.Fatal(err)
	}
	after := andon.DayStart(andon.MinTime.Day() + 2)
	if err := s.flushDue(); err != nil {
		t.Fatal(err)
	}
	if err := s.Expire(ctx, id, andon.Horizon{Events: after}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Entry(ctx, id, device, at(2), "WARNING1"); andon.KindOf(err) != andon.NotFound {
		t.Fatalf("the entry is still there: %v", err)
	}
	for _, test := range []struct {
		entry int
		to    andon.PersonID
		shown andon.PersonID
	}{{0, "Max", "Max"}, {2, "Kim", "Kim"}, {1, "Bob", "Kim"}, {2, "", "Max"}} {
		after++
		err := s.Restore(ctx, id, andon.History{Escalations: []andon.Escalation{
			{Device: device, Time: at(test.entry), State: "WARNING1", At: after, To: test.to},
			{Device: "other", Time: at(test.entry), State: "WARNING1", At: after, To: test.to},
		}})
		d, err2 := s.Device(ctx, id, device)
		if err != nil || err2 != nil || d.EscalatedTo != test.shown {
			t.Errorf("entry %d to %q: it is escalated to %q, %v, %v; want %q",
				test.entry, test.to, d.EscalatedTo, err, err2, test.shown)
		}
		if _, err := s.Device(ctx, id, "other"); andon.KindOf(err) != andon.NotFound {
			t.Errorf("a device of which nothing is there: %v", err)
		}
	}
}
