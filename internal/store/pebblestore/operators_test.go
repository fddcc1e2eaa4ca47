package pebblestore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/index"
)

// TestOperatorsPageFollowsItsAnswer: of an operator with many devices only those are read that can
// have entries on the page, in both orders, from the head, from blocks, and from both.
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
			check("in the head", 1)
		}
		if round < rounds-1 {
			if err := s.checkpoint(); err != nil {
				t.Fatal(err)
			}
			check("in blocks", round+1)
		}
	}
	check("in both", rounds)
}

// checkPage reads two pages of an operator, one behind the other.
func checkPage(t *testing.T, s *Store, where string, order andon.Order, limit, entries int) {
	t.Helper()
	tenant, err := s.tenant(t.Context(), andon.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	q := andon.EventQuery{Order: order, Limit: limit}
	for page := range 2 {
		r := newEventReader(t.Context(), s, tenant)
		hits := firstPage(t, r, &q)
		r.close()
		if len(hits) != limit {
			t.Fatalf("%s: page %d has %d of %d entries", where, page, len(hits), entries)
		}
		for i := range hits {
			if q.After != nil && compareKeys(order)(*q.After, hits[i].key) >= 0 {
				t.Errorf("%s: %+v comes behind %+v", where, hits[i].key, *q.After)
			}
			q.After = &hits[i].key
		}
		// In the head nothing says which entry of a device is its oldest.
		if most := 2*limit + 8; r.asked > most && (order == andon.Desc || where == "in blocks") {
			t.Errorf("%s, page %d of %d: %d devices were read, at most %d are worth it",
				where, page, limit, r.asked, most)
		}
	}
}

func firstPage(t *testing.T, r *eventReader, q *andon.EventQuery) []hit {
	t.Helper()
	for hour, err := range index.Hours(t.Context(), r.store.db, r.heads, r.tenant.number, "Liz",
		q) {
		if err != nil {
			t.Fatal(err)
		}
		hits, err := r.hour(hour, "Liz", q, q.Limit)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(hits) // the next reader has their room
	}
	return nil
}

// TestAPagePassesOverWhatIsBetweenItsDevices: of a device whose block has all that is wanted, no
// key behind it is looked at.
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
	must(t, s.checkpoint())
	tenant, err := s.tenant(t.Context(), andon.DefaultTenant)
	must(t, err)
	for _, order := range []andon.Order{andon.Desc, andon.Asc} {
		r := newEventReader(t.Context(), s, tenant)
		hits := firstPage(t, r, &andon.EventQuery{Order: order, Limit: limit})
		// A step or more to find out that the next device is far, and a seek.
		if keys := r.blocks.Keys; len(hits) != limit || keys > 2*limit+4 {
			t.Errorf("order %d: %d entries by %d keys", order, len(hits), keys)
		}
		r.close()
	}
}
