package dynamostore

import (
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	"github.com/andonhq/andon"
)

// rates measure what this process writes to each device, to know when one needs more partitions.
// The service takes 1,000 write units a second for one partition key; a device whose partitions
// take half of that gets twice as many. The number only grows, and is in the item of the device, so
// that readers ask all of them, and writers that lag write to some of them.
type rates struct {
	seed maphash.Seed

	mu    sync.Mutex
	begun time.Time // of the present window
	units map[uint64]int64
}

const (
	rateWindow    = 10 * time.Second
	unitsOfShard  = 500     // a second
	mostMeasured  = 1 << 17 // devices of a window; it has no hot ones where there are more
	bytesOfAnUnit = 1 << 10
)

func newRates() *rates { return &rates{seed: maphash.MakeSeed(), units: map[uint64]int64{}} }

// shards takes in what is about to be written to a device with n partitions, and returns how many
// it needs.
func (r *rates) shards(now time.Time, d *device, tenant string, units int64, n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.begun).Abs() >= rateWindow {
		r.begun = now
		clear(r.units)
	}
	sum := maphash.String(r.seed, tenant+"\x00"+string(d.ID)+"\x00"+strconv.Itoa(n))
	all, known := r.units[sum]
	if !known && len(r.units) >= mostMeasured {
		return n
	}
	r.units[sum] = all + units
	for n < mostShards && all+units > unitsOfShard*int64(n)*int64(rateWindow/time.Second) {
		n *= 2
	}
	return n
}

// unitsOf is what an item of so many bytes costs in one table.
func unitsOf(bytes int) int64 { return int64(bytes/bytesOfAnUnit) + 1 }

// shardsFor is how many partitions are used for what is about to be written to a device.
func (s *Store) shardsFor(t *tenant, d *device, units int64) int {
	n := max(d.shards(), s.options.fixedShards())
	if s.options.Shards != autoShards {
		return n
	}
	return s.rates.shards(s.now(), d, t.Key, units, n)
}

// unitsOfEvents is what the items of events cost in the log.
func unitsOfEvents(events []andon.Event) (units int64) {
	const keys = 200 // and what else each has
	for i := range events {
		units += unitsOf(keys + len(events[i].Message) + len(events[i].Attributes))
	}
	return units
}
