package cassandrastore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/andonhq/andon"
)

// hotDevice writes to one store and tells how its partitions fill.
type hotDevice struct {
	store  *Store
	shards int
	rows   map[string]int // by day and shard
}

func newHotDevice() *hotDevice {
	return &hotDevice{store: &Store{fullness: newFullness()}, rows: map[string]int{}}
}

// write appends entries of a day, and returns the partitions that should be counted.
func (h *hotDevice) write(day uint32, n int, message string) []partition {
	d := &deviceAppend{is: &view{shards: h.shards}}
	for i := range n {
		at := andon.DayStart(day) + andon.Time(len(h.rows)*1000+i)
		d.events = append(d.events, andon.Event{Device: "hot", Time: at, Message: message})
	}
	a := &appending{store: h.store, tenant: &tenant{key: "t"}}
	a.grow(d)
	h.shards = d.is.shards
	for i := range d.events {
		e := &d.events[i]
		h.rows[fmt.Sprint(day, " ", shardOf(e.Time+andon.Time(h.total()*n), "", h.shards))]++
	}
	return a.unsure
}

func (h *hotDevice) total() (n int) {
	for _, rows := range h.rows {
		n += rows
	}
	return n
}

// fullest returns the rows of the partition that has most.
func (h *hotDevice) fullest() (most int) {
	for _, rows := range h.rows {
		most = max(most, rows)
	}
	return most
}

// TestFullnessOutlivesAFleet: a device that writes as much as thirty others has its day split,
// however many others there are beside it.
func TestFullnessOutlivesAFleet(t *testing.T) {
	h := newHotDevice()
	const fleet = 300_000
	for i := range 120_000 {
		h.write(20_000, 1, "")
		for n := range 10 {
			other := andon.DeviceID(fmt.Sprint((i*10 + n) % fleet))
			h.store.fullness.add(partition{"t", other, 20_000, 1}, load{1, 1})
		}
	}
	if len(h.store.fullness.days) > fullestKept {
		t.Errorf("%d partitions are counted", len(h.store.fullness.days))
	}
	// 1.3 million entries, by half of the counts that are kept.
	if most := h.fullest(); h.shards < 2 || most > partitionUnits+1_300_000/(fullestKept/2) {
		t.Errorf("of 120,000 entries %d are in one of %d partitions", most, h.shards)
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
	for range 60 {
		h.write(20_000, 10_000, "")
	}
	if h.shards != 8 || h.fullest() > partitionUnits*11/10 {
		t.Errorf("of %d entries %d are in one of %d partitions", h.total(), h.fullest(), h.shards)
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
