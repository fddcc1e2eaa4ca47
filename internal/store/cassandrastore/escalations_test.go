package cassandrastore

import (
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
)

// TestSerialEscalationsCostTheSame: what a device shows costs the same after hundreds of
// escalations as after the first, and one page more where the last was withdrawn.
func TestSerialEscalationsCostTheSame(t *testing.T) {
	s := open(t, sharedKeyspace(t, "state"))
	ctx, tenant, at := t.Context(), ownTenant(t, s), andon.DayStart(realClock().Day())
	send := func(from, to int) {
		t.Helper()
		var events []andon.Event
		for i := from; i < to; i++ {
			events = append(events, andon.Event{
				Device: "press-1", State: "WARNING1", Time: at + andon.Time(i), EscalatedTo: "Sara",
			})
		}
		if err := s.Append(ctx, tenant, at, events); err != nil {
			t.Fatal(err)
		}
	}
	cost := func(entry int) (read int) {
		t.Helper()
		asking, plan := andon.WithPlan(ctx)
		d, err := s.Device(asking, tenant, "press-1")
		if err != nil || d.EscalatedTo != "Sara" || d.EscalatedEntry.Time != at+andon.Time(entry) {
			t.Errorf("the device shows %q of %s, %v", d.EscalatedTo, d.EscalatedEntry.Time, err)
		}
		for _, step := range plan.Steps() {
			if step.Statement == rows.EscalationsDown.Text {
				read += step.Rows
			}
		}
		return read
	}
	send(0, 1)
	if rows := cost(0); rows > 0 {
		t.Errorf("one escalation is looked up in %d rows", rows)
	}
	send(1, 500)
	if rows := cost(499); rows > 0 {
		t.Errorf("one of 500 escalations is looked up in %d rows", rows)
	}
	_, _, err := s.Escalate(ctx, tenant, andon.Escalation{
		Device: "press-1", Time: at + 499, State: "WARNING1", At: at + 1_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	if rows := cost(498); rows == 0 || rows > 20 {
		t.Errorf("after one that was withdrawn, %d rows are read", rows)
	}
}
