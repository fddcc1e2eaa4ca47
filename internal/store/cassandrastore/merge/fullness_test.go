package merge

import (
	"slices"
	"strconv"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// hotDevice writes and tells how its partitions fill.
type hotDevice struct {
	*Fullness
	shards int
	rows   map[[2]int]int // by day and shard
	sent   int
}

func newHotDevice() *hotDevice {
	return &hotDevice{Fullness: NewFullness(PartitionUnits), rows: map[[2]int]int{}}
}

// write adds entries of a day, and returns the partitions that should be counted.
func (h *hotDevice) write(day uint32, n, bytes int) (unsure []Partition) {
	var load Load
	for range n {
		load.Add(bytes)
	}
	h.shards, unsure = h.Grow("t", "hot", h.shards, map[uint32]Load{day: load})
	for i := range n {
		at := andon.DayStart(day) + andon.Time(h.sent+i)
		h.rows[[2]int{int(day), shared.ShardOf(at, "", h.shards)}]++
	}
	h.sent += n
	return unsure
}

// fullest returns the rows of the partition that has most.
func (h *hotDevice) fullest() (most int) {
	for _, rows := range h.rows {
		most = max(most, rows)
	}
	return most
}

// TestFullnessOutlivesAFleet: a device that writes much has its day split, however many others
// there are next to it.
func TestFullnessOutlivesAFleet(t *testing.T) {
	h := newHotDevice()
	others := make([]Partition, 300_000)
	for i := range others {
		others[i] = Partition{"t", andon.DeviceID(strconv.Itoa(i)), 20_000, 1}
	}
	const steps, each = 6_000, 60
	for i := range steps {
		h.write(20_000, 20, 64)
		for n := range each {
			h.add(others[(i*each+n)%len(others)], Load{1, 1})
		}
	}
	if len(h.days) > fullestKept {
		t.Errorf("%d partitions are counted", len(h.days))
	}
	most := PartitionUnits + (h.sent+steps*each)/(fullestKept/2)
	if got := h.fullest(); h.shards < 2 || got > most {
		t.Errorf("of %d entries %d are in one of %d partitions", h.sent, got, h.shards)
	}
}

// TestFullnessOfMixedDays: a backfill that goes from day to day fills each of them.
func TestFullnessOfMixedDays(t *testing.T) {
	h := newHotDevice()
	for range 1_500 {
		for day := range uint32(3) {
			h.write(20_000+day, 40, 64)
		}
	}
	if most := h.fullest(); h.shards < 2 || most > PartitionUnits {
		t.Errorf("of 60,000 entries a day %d are in one of %d partitions", most, h.shards)
	}
}

// TestFullnessOfBytes: large entries fill a partition, too.
func TestFullnessOfBytes(t *testing.T) {
	h := newHotDevice()
	const bytes = 16 << 10
	for range 100 {
		h.write(20_000, 100, bytes)
	}
	if most := h.fullest(); most*bytes > 100<<20 {
		t.Errorf("%d MiB are in one of %d partitions", most*bytes>>20, h.shards)
	}
}

// TestShardsGrow: one request has as many partitions as it needs, none gets more once there are
// newer ones, and there are no more than make sense.
func TestShardsGrow(t *testing.T) {
	h := newHotDevice()
	h.limit = PartitionUnits / 10
	for range 60 {
		h.write(20_000, 1_000, 64)
	}
	if h.shards != 8 || h.fullest() > PartitionUnits/10*11/10 {
		t.Errorf("of %d entries %d are in one of %d partitions", h.sent, h.fullest(), h.shards)
	}
	if h.write(20_001, 1, 64); h.shards != 8 {
		t.Errorf("on a new day there are %d partitions", h.shards)
	}
	h.limit = 1
	if h.write(20_002, 5_000, 64); h.shards != shared.MaxShards {
		t.Errorf("%d partitions, want %d", h.shards, shared.MaxShards)
	}
}

// TestFullnessAsks: a process that was started again, or is one of several, has what it can't know
// counted, once early and once before a partition is full.
func TestFullnessAsks(t *testing.T) {
	h := newHotDevice()
	if unsure := h.write(20_000, PartitionUnits/5-1, 64); unsure != nil {
		t.Errorf("%v are counted too early", unsure)
	}
	unsure := h.write(20_000, 1, 64)
	if want := []Partition{{"t", "hot", 20_000, 1}}; !slices.Equal(unsure, want) {
		t.Fatalf("%v are counted, want %v", unsure, want)
	}
	h.Counted(unsure[0], 38_000) // the others wrote three quarters
	if unsure := h.write(20_000, 2_000, 64); h.shards > 1 || unsure != nil {
		t.Errorf("%d partitions, and %v are counted, at 40,000", h.shards, unsure)
	}
	h.Counted(Partition{"t", "hot", 20_000, 1}, PartitionUnits)
	if h.write(20_000, 1, 64); h.shards != 2 {
		t.Errorf("%d partitions where one is full", h.shards)
	}
}

// TestShardsAreEven: entries are spread over all partitions, and an entry is always in the same.
func TestShardsAreEven(t *testing.T) {
	const n, each = 16, 500
	in := make([]int, n)
	for i := range n * each {
		at := andon.DayStart(20_000) + andon.Time(i)*1_000_000
		shard := shared.ShardOf(at, "NORMAL", n)
		if again := shared.ShardOf(at, "NORMAL", n); again != shard {
			t.Fatalf("%s is in %d and in %d", at, shard, again)
		}
		in[slices.Index(shared.Expand(shared.ShardsOf(n)), shard)]++
	}
	for shard, rows := range in {
		if rows < each/2 || rows > each*2 {
			t.Errorf("shard %d has %d rows of %d", shard, rows, n*each)
		}
	}
}
