package app

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestCollectAt: so much garbage may come together, whatever is in use, within reason.
func TestCollectAt(t *testing.T) {
	for inUse, want := range map[int64]int{
		0: 200, 1 << 20: 200, 32 << 20: 200, 50 << 20: 128, 128 << 20: 50, 2 << 30: 25,
	} {
		if got := collectAt(inUse); got != want {
			t.Errorf("with %d MB in use it is %d %%, want %d", inUse>>20, got, want)
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
