package pebblestore

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// TestPageOfManyStates: the page of a device costs a few seeks for each of its states, however much
// history each has, and holds what it should.
func TestPageOfManyStates(t *testing.T) {
	const states, each, begin = 300, 40, andon.Time(1_764_849_600_000_000) // midnight
	s, err := Open("store", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var events []andon.Event
	for i := range states * each {
		events = append(events, andon.Event{
			Device: "d", Time: begin + andon.Time(i)*1e6, // each state all day long
			State: andon.State(fmt.Sprintf("state %03d", i%states)),
		})
	}
	if err := s.Append(t.Context(), andon.DefaultTenant, begin, events); err != nil {
		t.Fatal(err)
	}
	tenant, _ := s.tenant(t.Context(), andon.DefaultTenant)
	for _, limit := range []int{1, 20, 100} {
		for _, order := range []andon.Order{andon.Desc, andon.Asc} {
			r, err := newEventReader(t.Context(), s.db, tenant)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for e, err := range r.device("d", andon.EventQuery{Order: order, Limit: limit}) {
				want := events[n]
				if order == andon.Desc {
					want = events[len(events)-1-n]
				}
				if err != nil || e != want {
					t.Fatalf("item %d is %v, %v, want %v", n, e, err, want)
				}
				n++
			}
			if most := 4*states + 10*limit; n != limit || r.scan.it.steps > most {
				t.Errorf("limit %d, order %v: %d items in %d steps, want at most %d",
					limit, order, n, r.scan.it.steps, most)
			}
			r.close()
		}
	}
}
