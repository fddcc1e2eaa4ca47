package cassandrastore

import (
	"slices"
	"strconv"
	"testing"

	"github.com/andonhq/andon"
)

// hotDevice writes to one store and tells how its partitions fill.
type hotDevice struct {
	store  *Store
	shards int
	rows   map[[2]int]int // by day and shard
	sent   int
}

func newHotDevice() *hotDevice {
	return &hotDevice{store: &Store{fullness: newFullness()}, rows: map[[2]int]int{}}
}

// write appends entries of a day, and returns the partitions that should be counted.
func (h *hotDevice) write(day uint32, n int, message string) []partition {
	d := &deviceAppend{is: &view{shards: h.shards}}
	for i := range n {
		at := andon.DayStart(day) + andon.Time(h.sent+i)
		d.events = append(d.events, andon.Event{Device: "hot", Time: at, Message: message})
	}
	a := &appending{store: h.store, tenant: &tenant{key: "t"}}
	a.grow(d)
	h.shards = d.is.shards
	for i := range d.events {
		h.rows[[2]int{int(day), shardOf(d.events[i].Time, "", h.shards)}]++
	}
	h.sent += n
	return a.unsure
}

// fullest returns the rows of the partition that has most.
func (h *hotDevice) fullest() (most int) {
	for _, rows := range h.rows {
		most = max(most, rows)
	}
	return most
}

// TestFullnessOutlivesAFleet: a device that writes much has its day split, however many others
// there are beside it.
func TestFullnessOutlivesAFleet(t *testing.T) {
	h := newHotDevice()
	others := make([]partition, 300_000)
	for i := range others {
		others[i] = partition{"t", andon.DeviceID(strconv.Itoa(i)), 20_000, 1}
	}
	const steps, each = 6_000, 60
	for i := range steps {
		h.write(20_000, 20, "")
		for n := range each {
			h.store.fullness.add(others[(i*each+n)%len(others)], load{1, 1})
		}
	}
	if len(h.store.fullness.days) > fullestKept {
		t.Errorf("%d partitions are counted", len(h.store.fullness.days))
	}
	most := partitionUnits + (h.sent+steps*each)/(fullestKept/2)
	if got := h.fullest(); h.shards < 2 || got > most {
		t.Errorf("of %d entries %d are in one of %d partitions", h.sent, got, h.shards)
	}
}

// TestFullnessOfMixedDays: a backfill that goes from day to day fills each of them.
func TestFullnessOfMixedDays(t *testing.T) {
	h := newHotDevice()
	for range 1_500 {
		for day := range uint32(3) {
			h.write(20_000+day, 40, "")
		}
	}
	if most := h.fullest(); h.shards < 2 || most > partitionUnits {
		t.Errorf("of 60,000 entries a day %d are in one of %d partitions", most, h.shards)
	}
}

// TestFullnessOfBytes: large entries fill a partition, too.
func TestFullnessOfBytes(t *testing.T) {
	h := newHotDevice()
	message := string(make([]byte, 16<<10))
	for range 100 {
		h.write(20_000, 100, message)
	}
	if most := h.fullest(); most*len(message) > 100<<20 {
		t.Errorf("%d MiB are in one of %d partitions", most*len(message)>>20, h.shards)
	}
}

// TestShardsGrow: one request has as many partitions as it needs, none gets more once there are
// newer ones, and there are no more than make sense.
func TestShardsGrow(t *testing.T) {
	h := newHotDevice()
	h.store.fullness.limit = partitionUnits / 10
	for range 60 {
		h.write(20_000, 1_000, "")
	}
	if h.shards != 8 || h.fullest() > partitionUnits/10*11/10 {
		t.Errorf("of %d entries %d are in one of %d partitions", h.sent, h.fullest(), h.shards)
	}
	if h.write(20_001, 1, ""); h.shards != 8 {
		t.Errorf("on a new day there are %d partitions", h.shards)
	}
	h.store.fullness.limit = 1
	if h.write(20_002, 5_000, ""); h.shards != maxShards {
		t.Errorf("%d partitions, want %d", h.shards, maxShards)
	}
}

// TestFullnessAsks: a process that was started again, or is one of several, has what it can't know
// counted, once early and once before a partition is full.
func TestFullnessAsks(t *testing.T) {
	h := newHotDevice()
	if unsure := h.write(20_000, partitionUnits/5-1, ""); unsure != nil {
		t.Errorf("%v are counted too early", unsure)
	}
	unsure := h.write(20_000, 1, "")
	if want := []partition{{"t", "hot", 20_000, 1}}; !slices.Equal(unsure, want) {
		t.Fatalf("%v are counted, want %v", unsure, want)
	}
	h.store.fullness.counted(unsure[0], 38_000) // the others wrote three quarters
	if unsure := h.write(20_000, 2_000, ""); h.shards > 1 || unsure != nil {
		t.Errorf("%d partitions, and %v are counted, at 40,000", h.shards, unsure)
	}
	h.store.fullness.counted(partition{"t", "hot", 20_000, 1}, partitionUnits)
	if h.write(20_000, 1, ""); h.shards != 2 {
		t.Errorf("%d partitions where one is full", h.shards)
	}
}

// TestHotDevice: a device that two processes write to, one of which is started anew again and
// again, has no partition with many more rows than there may be, and all of its entries are
// returned once, also those that were sent again when it had more partitions.
func TestHotDevice(t *testing.T) {
	o := newKeyspace(t, "state")
	const limit, each, requests = 500, 50, 60
	start := func() *Store {
		s := begin(t, o)
		s.fullness.limit = limit
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
		if n > limit*8/5 {
			t.Errorf("partition %d has %d rows, and may have about %d", shard, n, limit)
		}
	}
	units := scan[int](t, one, "SELECT shard FROM directory WHERE tenant = 'default' "+
		"AND kind = 'device' AND id = 'hot'")
	if len(rows) < requests*each/limit || len(units) > 4 {
		t.Errorf("%d partitions, %d rows in the directory", len(rows), len(units))
	}
}
