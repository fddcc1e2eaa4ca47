package bench

import (
	"math"
	"time"
)

// histogram counts lengths of time in bounded memory: a slot is a hundredth of a natural logarithm
// wide, so that what is read back is within 1 % of what was counted.
type histogram struct {
	counts [histogramSlots]uint32
	total  int64
}

const (
	slotsOfLog     = 100
	histogramSlots = 4367 // of the longest time.Duration, and all before
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

func slotOf(d time.Duration) int { return int(slotsOfLog * math.Log(float64(max(d, 1)))) }

func slotMiddle(slot int) time.Duration {
	return time.Duration(math.Round(math.Exp((float64(slot) + 0.5) / slotsOfLog)))
}
