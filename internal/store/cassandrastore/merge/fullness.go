package merge

import (
	"hash/maphash"
	"slices"
	"strconv"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// Fullness counts what is in the partitions of the devices that write most, to know when a day of
// one needs more partitions. It takes memory of fixed size, and keeps those with most of all
// partitions that are written to.
//
// When there are too many, the count of the median one is taken off all, and those that had less
// are forgotten. So a count is too low by at most the number of all entries that were written
// meanwhile, divided by half of the partitions that are kept (Misra and Gries).
//
// What other processes wrote, and this one before it was started, is not in a count. So a partition
// that is filling up is counted by the database: at a fifth, and again before it can be full if the
// others go on as they did.
type Fullness struct {
	limit int64 // units of one partition

	mu   sync.Mutex
	seed maphash.Seed
	days map[uint64]filling // by a hash of Partition
}

// Partition is a day of a device that has so many shards: all of them, which fill alike.
type Partition struct {
	Tenant string
	Device andon.DeviceID
	Day    uint32
	Shards int
}

// Load is what is added to a partition. A unit is a row, or a KiB where a row has more.
type Load struct{ Rows, Units int64 }

// PartitionUnits is half of what the usual advice allows: 100,000 rows, 100 MB.
const PartitionUnits = 50_000

const fullestKept = 1 << 16

// Add adds a row of so many bytes.
func (l *Load) Add(bytes int) {
	l.Rows++
	l.Units += 1 + int64(bytes)>>10
}

// filling is what is known of one partition.
type filling struct {
	units   int64 // there are
	own     Load  // of this process, since the rows were counted
	counted int64 // rows
	next    int64 // units from which on the rows are to be counted
}

// NewFullness returns a Fullness with nothing counted. A partition may have limit units.
func NewFullness(limit int64) *Fullness {
	return &Fullness{limit: limit, seed: maphash.MakeSeed(), days: map[uint64]filling{}}
}

func (f *Fullness) sum(p Partition) uint64 {
	return maphash.String(f.seed, p.Tenant+"\x00"+string(p.Device)+"\x00"+
		strconv.Itoa(int(p.Day))+"\x00"+strconv.Itoa(p.Shards))
}

// Grow takes in what a device with shards partitions a day writes to each day. It returns how many
// partitions a day it needs from now on, and those whose rows the database should count.
func (f *Fullness) Grow(
	tenant string, device andon.DeviceID, shards int, days map[uint32]Load,
) (grown int, unsure []Partition) {
	grown = max(shards, 1)
	for day, load := range days {
		for {
			p := Partition{tenant, device, day, grown}
			units, ask := f.add(p, load)
			if ask {
				unsure = append(unsure, p)
			}
			if units <= f.limit*int64(grown) || grown >= shared.MaxShards {
				break
			}
			grown *= 2
		}
	}
	return grown, unsure
}

// add counts what is written to a partition. It returns the units that there are, and whether the
// rows should be counted.
func (f *Fullness) add(p Partition, l Load) (units int64, unsure bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := f.sum(p)
	is, known := f.days[key]
	if !known {
		f.evict()
		is.next = f.limit * int64(p.Shards) / 5
	}
	is.units += l.Units
	is.own.Rows += l.Rows
	is.own.Units += l.Units
	f.days[key] = is
	return is.units, is.units >= is.next
}

// Counted takes in how many rows there are. The rows that others wrote are taken to be as large as
// those of this process.
func (f *Fullness) Counted(p Partition, rows int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, full := f.sum(p), f.limit*int64(p.Shards)
	is, known := f.days[key]
	if !known || is.own.Rows == 0 {
		return
	}
	is.units = max(is.units, rows*is.own.Units/is.own.Rows)
	grown := max(rows-is.counted, is.own.Rows)
	left := max(full-is.units, 0) * is.own.Rows / grown // of this process, until it is full
	is.next = is.units + max(left*4/5, full/20)
	is.counted, is.own = rows, Load{}
	f.days[key] = is
}

// evict forgets partitions with few units where there are too many partitions.
func (f *Fullness) evict() {
	if len(f.days) < fullestKept {
		return
	}
	all := make([]int64, 0, len(f.days))
	for _, is := range f.days {
		all = append(all, is.units)
	}
	slices.Sort(all)
	median := all[len(all)/2]
	for key, is := range f.days {
		if is.units -= median; is.units <= 0 {
			delete(f.days, key)
			continue
		}
		is.next -= median
		f.days[key] = is
	}
}
