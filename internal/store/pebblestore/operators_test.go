package pebblestore

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
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

func checkPage(t *testing.T, s *Store, where string, order andon.Order, limit, entries int) {
	t.Helper()
	tenant, err := s.tenant(t.Context(), andon.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	r := newEventReader(t.Context(), s, tenant)
	defer r.close()
	q := andon.EventQuery{Order: order, Limit: limit}
	var last andon.Time
	n := 0
	for hour, err := range r.operatorHours("Liz", &q) {
		if err != nil {
			t.Fatal(err)
		}
		hits, err := r.hour(hour, "Liz", &q, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			if n++; n > 1 && (h.key.Time > last) == (order == andon.Desc) {
				t.Errorf("%s: %s comes behind %s", where, h.key.Time, last)
			}
			last = h.key.Time
		}
		break
	}
	if n != limit {
		t.Errorf("%s: %d of %d entries", where, n, entries)
	}
	// In the head nothing says which entry of a device is its oldest.
	if most := 2*limit + 8; r.asked > most && (order == andon.Desc || where == "in blocks") {
		t.Errorf("%s, limit %d: %d devices were read, at most %d are worth it",
			where, limit, r.asked, most)
	}
}
