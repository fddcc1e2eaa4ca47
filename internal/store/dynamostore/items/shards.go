package items

import (
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/andonhq/andon"
)

// MostShards bounds how many queries one read of a device is.
const MostShards = 64

// Rates measure what this process writes to each device, to know when one needs more partitions.
// The service takes 1,000 write units a second for one partition key; a device that uses half of
// what its partitions can take gets twice as many. What the service left unprocessed counts each
// time that it is sent: else a device that several processes keep busy would never look busy to one
// of them. The number of partitions only grows, and is in the item of the device, so that readers
// ask all of them, and writers that lag write to some of them.
type Rates struct {
	seed    maphash.Seed
	OfShard int64 // units a second at which a partition is half busy

	mu    sync.Mutex
	begun time.Time        // of the present window
	units map[uint64]int64 // by <d>
}

// When something is divided.
const (
	rateWindow   = 10 * time.Second
	UnitsOfShard = 500 // units a second
	// Sharers is by how many processes a key of an index is taken to be written to at once: each
	// measures its own writes only.
	Sharers      = 2
	mostMeasured = 1 << 17 // devices of a window; it has no hot ones where there are more
	unitBytes    = 1 << 10
)

// NewRates returns rates of nothing.
func NewRates() *Rates {
	return &Rates{
		seed: maphash.MakeSeed(), OfShard: UnitsOfShard, units: map[uint64]int64{},
	}
}

// Partitions counts what is about to be written to the n partitions of <d>, and returns how many
// partitions it needs.
func (r *Rates) Partitions(now time.Time, key string, units int64, n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.begun).Abs() >= rateWindow {
		r.begun = now
		clear(r.units)
	}
	sum := maphash.String(r.seed, key)
	all, known := r.units[sum]
	if !known && len(r.units) >= mostMeasured {
		return n
	}
	needed := n
	for all += units; needed < MostShards && all > r.halfOf(needed); {
		needed *= 2
	}
	if needed > n {
		all = 0 // the load of a larger number is measured from here
	}
	r.units[sum] = all
	return needed
}

// halfOf returns what half busy partitions take in a window.
func (r *Rates) halfOf(shards int) int64 {
	return r.OfShard * int64(shards) * int64(rateWindow/time.Second)
}

// Again counts once more what the service left unprocessed, of a partition that is measured.
func (r *Rates) Again(partition string, units int64) {
	key, _, _ := strings.Cut(partition, shardMark)
	r.mu.Lock()
	defer r.mu.Unlock()
	if sum := maphash.String(r.seed, key); r.units[sum] > 0 {
		r.units[sum] += units
	}
}

// UnitsOf returns what an item of so many bytes costs in one table.
func UnitsOf(bytes int) int64 { return int64(bytes/unitBytes) + 1 }

// UnitsOfEvents returns what the items of events cost in the log.
func UnitsOfEvents(events []andon.Event) (units int64) {
	const keys = 200 // and what else each has
	for i := range events {
		units += UnitsOf(keys + len(events[i].Message) + len(events[i].Attributes))
	}
	return units
}
