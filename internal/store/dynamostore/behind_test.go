package dynamostore

import (
	"testing"
	"time"

	"github.com/andonhq/andon"
)

// behind is a process that knows a device as it was before another process wrote to it.
type behind struct {
	*testing.T
	late, other *Store
	at          andon.Time
}

func newBehind(t *testing.T) *behind {
	t.Helper()
	o := newTables(t)
	b := &behind{T: t, late: open(t, o), other: open(t, o), at: realClock() - 3_600_000_000}
	b.append(0, "NORMAL")
	return b
}

func (b *behind) append(after andon.Time, state andon.State) {
	b.Helper()
	e := andon.Event{Device: "d", Time: b.at + after, State: state}
	err := b.late.Append(b.Context(), andon.DefaultTenant, realClock(), []andon.Event{e})
	if err != nil {
		b.Fatal(err)
	}
}

func (b *behind) log() []andon.Event {
	b.Helper()
	q := andon.EventQuery{Order: andon.Asc, Limit: 10}
	return listOf(b.T, b.other.DeviceEvents(b.Context(), andon.DefaultTenant, "d", q))
}

func (b *behind) assign(s *Store, operator andon.PersonID) {
	b.Helper()
	sent := []andon.Assignment{{Device: "d", Operator: operator}}
	if _, err := s.Assign(b.Context(), andon.DefaultTenant, b.at+1, sent); err != nil {
		b.Fatal(err)
	}
}

// TestBehindAnAssignment: an entry is written with the operator that its process knew of, and again
// with the one who was assigned meanwhile.
func TestBehindAnAssignment(t *testing.T) {
	b := newBehind(t)
	b.assign(b.other, "Liz")
	b.append(5, "NORMAL")
	if log := b.log(); len(log) != 2 || log[1].Operator != "Liz" {
		t.Errorf("the log is %+v, want Liz to answer for its second entry", log)
	}
}

// TestBehindAPurge: an entry is there that was sent after the purge, and an assignment is not whose
// row landed after it.
func TestBehindAPurge(t *testing.T) {
	b := newBehind(t)
	ctx, id := t.Context(), andon.DefaultTenant
	b.assign(b.late, "Liz")
	of, err := b.late.tenant(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	was, err := b.late.look(ctx, of, []andon.DeviceID{"d"})
	if err != nil {
		t.Fatal(err)
	}
	b.append(4, "NORMAL")
	if err := b.other.Purge(ctx, id, "d"); err != nil {
		t.Fatal(err)
	}
	if err := b.late.keepFormer(ctx, of, was[0]); err != nil {
		t.Fatal(err)
	}
	b.append(5, "WARNING1")
	b.assign(b.late, "Tom")
	if log := b.log(); len(log) != 1 || log[0].State != "WARNING1" || log[0].Operator != "" {
		t.Errorf("the log is %+v, want the entry that was sent after the purge", log)
	}
	got := listOf(t, b.other.Assignments(ctx, id, "d", andon.PageQuery{Limit: 10}))
	if len(got) != 1 || got[0].Operator != "Tom" {
		t.Errorf("the assignments are %+v, want the one that was made after the purge", got)
	}
}

// TestBehindSeverities: a process that goes by former severities follows, and does not fold a
// device by them once it was folded by the present ones.
func TestBehindSeverities(t *testing.T) {
	b := newBehind(t)
	ctx, id := t.Context(), andon.DefaultTenant
	b.append(5, "WARNING1")
	b.append(5, "WARNING2")
	at := b.late.now()
	b.late.Now = func() time.Time { return at } // what it knows stays new to it
	_, err := b.late.tenant(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	record, err := b.other.Tenant(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	record.States, err = andon.NewStateSet([]andon.StateDef{
		{Name: "NORMAL"}, {Name: "WARNING1", Severity: 99}, {Name: "WARNING2", Severity: 1},
	})
	if err == nil {
		_, err = b.other.PutTenant(ctx, record)
	}
	if err == nil {
		_, err = b.other.Reorder(ctx, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.append(2, "NORMAL")
	for _, s := range []*Store{b.late, b.other} {
		d, err := s.Device(ctx, id, "d")
		if err != nil || d.State != "WARNING1" || d.Severity != 99 || d.Since != b.at+5 {
			t.Errorf("the device shows %+v, %v; want WARNING1, which is the severest now", d, err)
		}
	}
	q := andon.DeviceQuery{Limit: 10}
	if q.States, err = andon.ParseStateFilter("WARNING1"); err != nil {
		t.Fatal(err)
	}
	if got := listOf(t, b.other.Devices(ctx, id, q)); len(got) != 1 {
		t.Errorf("in WARNING1 are %+v, want the device", got)
	}
}
