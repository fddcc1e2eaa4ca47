package entries

import (
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// TestLateFlush fills the live memtable while a flush is at work.
func TestLateFlush(t *testing.T) {
	var h Memory
	h.begin(1<<20, time.Second)
	fill := func(bytes int) {
		for n := 0; h.live.Bytes() < bytes; n++ {
			e := eventlog.Entry{Time: andon.MinTime + andon.Time(n), State: "NORMAL"}
			_ = h.live.Add(1, 0, e)
		}
	}
	fill(100 << 10)
	h.freeze(1, 0)
	all := int64(h.frozen.Entries())
	for _, c := range []struct {
		flushed int64
		live    int
		late    bool
	}{
		{0, 0, false},
		{0, 64 << 10, true},
		{all / 2, 64 << 10, false}, // an eighth of the half that it may have
		{all / 2, 192 << 10, true},
		{all, 192 << 10, false},
		{all, 320 << 10, true},
	} {
		h.flushed.Store(c.flushed)
		if fill(c.live); h.late() != c.late {
			t.Errorf("%d of %d flushed, %d bytes wait: late is %v", c.flushed, all, c.live, !c.late)
		}
	}
}
