package cassandrastore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/andonhq/andon"
)

// TestSeveritiesWhileAppending: a severity changes while no append of the tenant is under way, and
// a call that waits for that stops with its deadline. Other settings wait for nothing, and what is
// restored may be the first that a process writes.
func TestSeveritiesWhileAppending(t *testing.T) {
	s := open(t, sharedKeyspace(t, "buckets"))
	id := andon.TenantID("severities")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	record, err := s.PutTenant(t.Context(), andon.NewTenant(id))
	must(err)
	liz := andon.Assignment{Device: "d", Operator: "Liz", From: realClock()}
	must(s.Restore(t.Context(), id, andon.History{Assignments: []andon.Assignment{liz}}))
	events := []andon.Event{{Device: "d", Time: realClock(), State: "NORMAL"}}

	appends := s.tenants.appendsOf(id)
	must(appends.RLock(t.Context())) // as an append that is slow
	record.SilentAfter++
	record, err = s.PutTenant(t.Context(), record)
	must(err)
	defs := append(record.States.Defs(), andon.StateDef{Name: "HOT", Severity: 99})
	changed := record
	changed.States, err = andon.NewStateSet(defs)
	must(err)
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.PutTenant(soon, changed); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a new severity concurrent with an append: %v", err)
	}
	must(s.Append(t.Context(), id, events[0].Time, events))
	appends.RUnlock()
	_, err = s.PutTenant(t.Context(), changed)
	must(err)

	must(appends.Lock(t.Context())) // as a change of severities
	soon, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err = s.Append(soon, id, events[0].Time, events)
	if kind := andon.KindOf(err); kind != andon.Unavailable {
		t.Errorf("an append concurrent with a new severity: %v", err)
	}
	appends.Unlock()
	must(s.DeleteTenant(t.Context(), id))
}
