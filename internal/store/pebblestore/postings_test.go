package pebblestore

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// givenOut returns the devices of an hour in the order in which a page is looked for in them.
func givenOut(h hourOf, q *andon.EventQuery) (all []layout.InHour) {
	for b := newByBound(h, q, &room{}); len(b.sources) > 0; {
		all = append(all, b.next())
	}
	return all
}

// TestDevicesOfAnHourAreGivenOutInOrder: those of heads and of several postings come as if they had
// been joined and sorted, each once and with the bound that comes first.
func TestDevicesOfAnHourAreGivenOutInOrder(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	some := func() (devices []layout.InHour) {
		for range dice.IntN(20) {
			oldest := dice.Uint32N(100)
			devices = append(devices, layout.InHour{
				Device: dice.Uint32N(15), Oldest: oldest, Newest: oldest + dice.Uint32N(50),
			})
		}
		return devices
	}
	for i := range 500 {
		q := &andon.EventQuery{Order: andon.Order(i % 2)}
		h := hourOf{hour: 490_000, inHeads: some()}
		all := slices.Clone(h.inHeads)
		for range dice.IntN(4) {
			devices := layout.JoinDevices(some())
			all = append(all, devices...)
			slices.SortFunc(devices, inOrder(q.Order))
			if len(devices) > 0 {
				h.postings = append(h.postings, devices)
			}
		}
		bound := func(d layout.InHour) uint32 {
			if q.Order == andon.Asc {
				return d.Oldest
			}
			return 1000 - d.Newest
		}
		want := map[uint32]uint32{}
		for _, d := range all {
			if first, known := want[d.Device]; !known || bound(d) < first {
				want[d.Device] = bound(d)
			}
		}
		got := givenOut(h, q)
		byBound := func(a, b layout.InHour) int { return cmp.Compare(bound(a), bound(b)) }
		if !slices.IsSortedFunc(got, byBound) {
			t.Fatalf("%d: not in order: %v", i, got)
		}
		for _, d := range got {
			if first, left := want[d.Device]; !left || first != bound(d) {
				t.Fatalf("%d: %v was given out, its bound is %d, %v", i, d, first, left)
			}
			delete(want, d.Device)
		}
		if len(want) > 0 {
			t.Fatalf("%d: not given out: %v", i, want)
		}
	}
}

// TestAPostingIsReadOnce, in each order, until it has other bytes or is one of too many.
func TestAPostingIsReadOnce(t *testing.T) {
	const most = 100_000
	known := readPostings{most: most}
	devices := []layout.InHour{
		{Device: 1, Oldest: 5, Newest: 9}, {Device: 2, Oldest: 3, Newest: 20},
		{Device: 7, Oldest: 4, Newest: 4},
	}
	value := layout.AppendPosting(nil, devices)
	read := func(key string, value []byte, order andon.Order) []layout.InHour {
		t.Helper()
		devices, err := known.read([]byte(key), value, order)
		must(t, err)
		return devices
	}
	for order, want := range [][]layout.InHour{
		andon.Desc: {devices[1], devices[0], devices[2]},
		andon.Asc:  {devices[1], devices[2], devices[0]},
	} {
		first := read("key", value, andon.Order(order))
		if !slices.Equal(first, want) {
			t.Errorf("order %d: %v, want %v", order, first, want)
		}
		if again := read("key", value, andon.Order(order)); &first[0] != &again[0] {
			t.Errorf("order %d: it was read again", order)
		}
	}
	if got := read("key", layout.AppendPosting(nil, devices[:1]), andon.Desc); len(got) != 1 {
		t.Errorf("a posting with other bytes: %v", got)
	}
	if _, err := known.read([]byte("key"), value[:len(value)-1], andon.Desc); err == nil {
		t.Error("a posting that was cut is read")
	}
	for i := range most / 100 {
		read(fmt.Sprint(i), value, andon.Order(i%2))
	}
	kept := 0
	for _, of := range known.of {
		for key, p := range of {
			kept += p.size(key)
		}
	}
	if kept != known.bytes || kept > most || kept < most/2 {
		t.Errorf("%d bytes are kept, %d are counted, at most %d may be", kept, known.bytes, most)
	}
}
