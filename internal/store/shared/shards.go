package shared

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
)

// A device that writes more than a partition may hold gets more of them for each day: 2, 4, 8 ...
// They are new ones each time, so that one that is full gets no more rows:
//
//	partitions a day   their shards   in the directory
//	1                  0              0
//	2                  1, 2           -2
//	4                  3, 4, 5, 6     -4
//	n                  n-1 to 2n-2    -n
//
// The number only grows. A directory says which partitions there may be, so growth takes effect at
// once and readers need not know the number. The directory has one row for all shards of a number.
// An entry that is sent again after the number grew may be in two partitions: readers join equal
// identities.

// MaxShards keeps a device from having a partition for each second.
const MaxShards = 1024

// ShardOf returns the shard of an entry of a device with n partitions a day.
func ShardOf(at andon.Time, state andon.State, n int) int {
	if n <= 1 {
		return 0
	}
	return n - 1 + Spread(Hash(strconv.FormatInt(int64(at), 36)+string(state)), n)
}

// ShardsOf returns what a directory says of n partitions a day.
func ShardsOf(n int) int {
	if n <= 1 {
		return 0
	}
	return -n
}

// Expand returns the shards that a number of a directory means: one from 0 on is a shard itself.
func Expand(shards int) (all []int) {
	if shards >= 0 {
		return []int{shards}
	}
	for i := range -shards {
		all = append(all, -shards-1+i)
	}
	return all
}

// Hash returns FNV-1a of 64 bits, which says which of a fixed number of partitions something
// belongs to. It is part of what is stored.
func Hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

// MessageHash tells the messages of one device and time apart by what they say, so that one that is
// sent again is the same row. It is part of what is stored.
func MessageHash(r *andon.Reading) uint64 {
	var text strings.Builder
	for _, m := range r.Metrics {
		fmt.Fprintf(&text, "%d %s%b ", len(m.Name), m.Name, m.Value)
	}
	text.WriteString(string(r.Metadata))
	return Hash(text.String())
}

// Spread chooses one of n partitions by a hash: it mixes the high bits into the low ones.
func Spread(h uint64, n int) int { return int((h ^ h>>29 ^ h>>43) % uint64(n)) }
