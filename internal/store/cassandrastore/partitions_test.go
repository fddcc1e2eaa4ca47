package cassandrastore

import (
	"testing"

	"github.com/andonhq/andon"
)

// TestSerialHotDevice: a device that two processes write to, one of which is started again and
// again and again, has no partition with many more rows than there may be, and all of its entries
// are returned once, also those that were sent again when it had more partitions.
func TestSerialHotDevice(t *testing.T) {
	t.Parallel()
	o := newKeyspace(t, "state")
	const limit, each, requests = 500, 50, 60
	start := func() *Store {
		s := begin(t, o)
		s.partitionUnits = limit
		return s
	}
	one, two := start(), start()
	defer func() { end(t, one); end(t, two) }()
	at := andon.DayStart(realClock().Day())
	send := func(s *Store, n int) {
		t.Helper()
		var events []andon.Event
		for i := range each {
			events = append(events, andon.Event{
				Device: "hot", State: "NORMAL", Time: at + andon.Time(n*each+i),
			})
		}
		if err := s.Append(t.Context(), andon.DefaultTenant, at, events); err != nil {
			t.Fatal(err)
		}
	}
	for n := range requests {
		send([]*Store{one, two}[n%2], n)
		if n%20 == 19 {
			end(t, two)
			two = start()
		}
	}
	send(one, 0)
	for _, order := range []andon.Order{andon.Asc, andon.Desc} {
		q := andon.EventQuery{Order: order, Limit: 2 * requests * each}
		n := 0
		for e, err := range one.DeviceEvents(t.Context(), andon.DefaultTenant, "hot", q) {
			want := at + andon.Time(n)
			if order == andon.Desc {
				want = at + andon.Time(requests*each-1-n)
			}
			if n++; err != nil || e.Time != want {
				t.Fatalf("entry %d is of %s, not %s: %v", n, e.Time, want, err)
			}
		}
		if n != requests*each {
			t.Errorf("%d of %d entries are returned", n, requests*each)
		}
	}
	rows := map[int]int{}
	for _, shard := range scan[int](t, one, "SELECT shard FROM events_by_device") {
		rows[shard]++
	}
	for shard, n := range rows {
		if n > limit*3 {
			t.Errorf("partition %d has %d rows, and may have about %d", shard, n, limit)
		}
	}
	units := scan[int](t, one, "SELECT shard FROM directory WHERE tenant = 'default' "+
		"AND kind = 'device' AND id = 'hot'")
	if len(rows) < requests*each/limit || len(units) > 4 {
		t.Errorf("%d partitions, %d rows in the directory", len(rows), len(units))
	}
}
