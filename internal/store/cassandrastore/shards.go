package cassandrastore

import (
	"strconv"

	"github.com/andonhq/andon"
)

// A device that writes more than fits a partition gets more of them for each day: 2, 4, 8 ... They
// are new ones each time, so that one that is full gets no more:
//
//	partitions a day   their shards   in the directory
//	1                  0              0
//	2                  1, 2           -2
//	4                  3, 4, 5, 6     -4
//	n                  n-1 to 2n-2    -n
//
// The number only ever grows. The directory says which partitions there may be, so that it takes
// effect at once and readers need not know it. It has one row for all of a number; a former schema
// had one for each shard, from 0 on. What is delivered again after the number grew may stand in two
// partitions, as one entry: readers join equal identities.

// maxShards keeps a device from having a partition for each second.
const maxShards = 1024

// shardOf is the shard of an entry of a device with n partitions a day.
func shardOf(at andon.Time, state andon.State, n int) int {
	if n <= 1 {
		return 0
	}
	return n - 1 + spread(hash(strconv.FormatInt(int64(at), 36)+string(state)), n)
}

// shardsOf is what the directory says of n partitions a day.
func shardsOf(n int) int {
	if n <= 1 {
		return 0
	}
	return -n
}

// expand returns the shards that a number of the directory stands for.
func expand(shards int) (all []int) {
	if shards >= 0 {
		return []int{shards}
	}
	for i := range -shards {
		all = append(all, -shards-1+i)
	}
	return all
}

// grow raises the number of partitions of a device where those of a day are full. One whose rows
// other processes may have written, too, is to be counted.
func (a *appending) grow(d *deviceAppend) {
	shards := max(d.is.shards, 1)
	for day, load := range d.loads() {
		for {
			p := partition{a.tenant.key, d.events[0].Device, day, shards}
			units, unsure := a.store.fullness.add(p, load)
			if unsure {
				a.unsure = append(a.unsure, p)
			}
			if units <= a.store.fullness.limit*int64(shards) || shards >= maxShards {
				break
			}
			shards *= 2
		}
	}
	if shards == max(d.is.shards, 1) {
		return
	}
	d.is.shards = shards
	a.log = append(a.log, mutation{{
		"UPDATE latest_by_device USING TIMESTAMP ? SET shards = ? WHERE tenant = ? AND device = ?",
		[]any{int64(shards), shards, a.tenant.key, string(d.events[0].Device)},
	}})
}

// loads returns what an append adds to each day.
func (d *deviceAppend) loads() map[uint32]load {
	days := map[uint32]load{}
	for i := range d.events {
		e := &d.events[i]
		l := days[e.Time.Day()]
		l.rows++
		l.units += unitsOf(entrySize(e))
		days[e.Time.Day()] = l
	}
	return days
}
