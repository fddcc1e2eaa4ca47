package pebblestore

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// TestOperatorsPageFollowsItsAnswer: of an operator with many devices only those are read that can
// have entries on the page, in both orders, from the memtable, from blocks, and from both.
func TestOperatorsPageFollowsItsAnswer(t *testing.T) {
	const devices, rounds, minutes = 2000, 3, 10
	s, err := Open("store", Options{FS: vfs.NewMem(), Reserve: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	base := andon.HourStart(benchBase.Hour())
	second := andon.Time(1_000_000)
	at := func(device, round int) andon.Time { // spread over the minutes
		return base + second*andon.Time(round*minutes*60) + second/4*andon.Time(device)
	}
	check := func(where string, rounds int) {
		t.Helper()
		for _, order := range []andon.Order{andon.Desc, andon.Asc} {
			for _, limit := range []int{1, 100} {
				checkPage(t, s, where, order, limit, devices*rounds)
			}
		}
	}
	for round := range rounds {
		events := make([]andon.Event, devices)
		for d := range events {
			events[d] = andon.Event{
				Device: andon.DeviceID(fmt.Sprintf("press-%04d", d)), Time: at(d, round),
				State: "NORMAL", Operator: "Liz",
			}
		}
		if err := s.Append(t.Context(), andon.DefaultTenant, base, events); err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			check("in the memtable", 1)
		}
		if round < rounds-1 {
			if err := s.flushDue(); err != nil {
				t.Fatal(err)
			}
			check("in blocks", round+1)
		}
	}
	check("in both", rounds)
}

// checkPage reads two pages of an operator, one after the other.
func checkPage(t *testing.T, s *Store, where string, order andon.Order, limit, entries int) {
	t.Helper()
	q := andon.EventQuery{Order: order, Limit: limit}
	for page := range 2 {
		ctx, plan := andon.WithPlan(t.Context())
		n := 0
		for e, err := range s.OperatorEvents(ctx, andon.DefaultTenant, "Liz", q) {
			if err != nil {
				t.Fatal(err)
			}
			k := e.Key(s.tenants[andon.DefaultTenant].states())
			if c := 0; q.After != nil {
				if c = q.After.Compare(k); order == andon.Desc {
					c = -c
				}
				if c >= 0 {
					t.Errorf("%s: %+v comes after %+v", where, k, *q.After)
				}
			}
			q.After = &k
			n++
		}
		if n != limit {
			t.Fatalf("%s: page %d has %d of %d entries", where, page, n, entries)
		}
		read := 0
		for _, step := range plan.Steps() {
			if strings.HasPrefix(step.Statement, "memory: entries") ||
				strings.HasPrefix(step.Statement, "entries within") {
				read += step.Scanned
			}
		}
		// In memory nothing says which entry of a device is its oldest.
		const each = 3 // entries of a device at most
		most := each * (2*limit + 8)
		if read > most && (order == andon.Desc || where == "in blocks") {
			t.Errorf("%s, page %d of %d: %d entries were read, at most %d are worth it",
				where, page, limit, read, most)
		}
	}
}

// TestAPagePassesOverWhatIsBetweenItsDevices: of a device whose block has all that is wanted, no
// key after it is looked at.
func TestAPagePassesOverWhatIsBetweenItsDevices(t *testing.T) {
	const devices, each, limit = 400, 20, 10
	s, err := Open("store", Options{FS: vfs.NewMem(), Reserve: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	base := andon.HourStart(benchBase.Hour())
	var events []andon.Event
	for d := range devices {
		operator := andon.PersonID("Bob")
		if d%each == 0 {
			operator = "Liz"
		}
		for i := range andon.Time(3) {
			events = append(events, andon.Event{
				Device: andon.DeviceID(fmt.Sprintf("press-%04d", d)), State: "NORMAL",
				Time: base + (andon.Time(d)+i*devices)*1000, Operator: operator,
			})
		}
	}
	must(t, s.Append(t.Context(), andon.DefaultTenant, base, events))
	must(t, s.flushDue())
	for _, order := range []andon.Order{andon.Desc, andon.Asc} {
		q := andon.EventQuery{Order: order, Limit: limit}
		steps := explained(t, func(ctx context.Context) (int, error) {
			return howMany(s.OperatorEvents(ctx, andon.DefaultTenant, "Liz", q))
		}, limit)
		// A step or more to find out that the next device is far, and a seek.
		atMost(t, steps, "table B", 2*limit+4, 2*limit+4)
	}
}
