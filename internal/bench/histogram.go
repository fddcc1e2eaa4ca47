package bench

import (
	"math"
	"math/bits"
	"time"
)

// histogram counts lengths of time in bounded memory: each power of two nanoseconds is divided into
// as many parts, so that what is read back is within 1 % of what was counted. The idea is that of
// HdrHistogram.
type histogram struct {
	counts [histogramSlots]uint32
	total  int64
}

const (
	slotBits       = 6
	slotParts      = 1 << slotBits
	histogramSlots = (64 - slotBits) * slotParts // the longest time.Duration has 63 bits
)

func (h *histogram) add(d time.Duration) {
	h.counts[slotOf(d)]++
	h.total++
}

func (h *histogram) merge(o *histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.total += o.total
}

// quantile returns the time within which so much of all was done: 0.5 is the median. 0 where
// nothing was counted.
func (h *histogram) quantile(q float64) time.Duration {
	rank, seen := int64(math.Ceil(q*float64(h.total))), int64(0)
	for i, n := range h.counts {
		if seen += int64(n); n > 0 && seen >= rank {
			return slotMiddle(i)
		}
	}
	return 0
}

// slotOf is the number itself below slotParts; above, its leading bits and how many follow them.
func slotOf(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < slotParts {
		return int(v)
	}
	shift := bits.Len64(v) - slotBits - 1
	return shift*slotParts + int(v>>shift)
}

func slotMiddle(slot int) time.Duration {
	if slot < 2*slotParts {
		return time.Duration(slot)
	}
	shift := slot/slotParts - 1
	lowest := uint64(slot-shift*slotParts) << shift
	return time.Duration(lowest + 1<<shift/2)
}
