package app

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestCollectAt: so much garbage may come together, whatever is in use, within reason.
func TestCollectAt(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		inUse, scanned int64
		want           int
	}{
		{0, 0, 200}, {mb, mb, 200}, {32 * mb, 0, 200}, {50 * mb, 0, 128}, {128 * mb, 0, 50},
		{128 * mb, 32 * mb, 125}, {512 * mb, 448 * mb, 200}, {2048 * mb, 0, 25},
	} {
		if got := collectAt(c.inUse, c.scanned); got != c.want {
			t.Errorf("with %d MB in use, %d of them scanned, it is %d %%, want %d",
				c.inUse/mb, c.scanned/mb, got, c.want)
		}
	}
}

// TestTuneBehindEach: the percentage follows what is in use without being asked to, until the end.
func TestTuneBehindEach(t *testing.T) {
	sets := make(chan int, 1000)
	tuned := &tuner{set: func(percent int) { sets <- percent }}
	defer tuned.stop()
	tuned.tune()
	first := <-sets
	much := make([]byte, 256<<20) // untouched, so it takes no memory
	for now := first; now > 50; { // garbage of 256 MiB or more
		runtime.GC()
		select {
		case now = <-sets:
		case <-time.After(time.Millisecond): // cleanups run concurrently
		}
	}
	runtime.KeepAlive(much)
	if first <= 50 {
		t.Errorf("%d %% at first", first)
	}
	ended := &tuner{set: func(percent int) { t.Errorf("%d %% after the end", percent) }}
	ended.stop()
	ended.tune()
}

// TestGiveBack: memory goes back once a program that made much makes little, and once only.
func TestGiveBack(t *testing.T) {
	var h heap
	made := uint64(0)
	for i, step := range []struct {
		made uint64
		want bool
	}{
		{1 << 20, false},                     // at the start
		{100 << 20, false}, {3 << 20, false}, // it works
		{1 << 20, true}, {1 << 20, false}, // it is quiet
		{20 << 20, false}, {0, false}, // too little to be worth it
		{20 << 20, false}, {0, true}, {0, false},
	} {
		made += step.made
		if got := h.idle(made); got != step.want {
			t.Errorf("step %d: %t", i, got)
		}
	}
}

// TestGiveBackCollects: what was garbage is neither in use nor resident.
func TestGiveBackCollects(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nothing else collects
	garbage := make([]byte, 64<<20)
	for i := 0; i < len(garbage); i += 4096 {
		garbage[i] = 1
	}
	var m memoryBound
	before := metric("/memory/classes/heap/released:bytes")
	for metric("/memory/classes/heap/released:bytes") < before+32<<20 { // others may make much yet
		if err := m.giveBack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
