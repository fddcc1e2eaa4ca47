package app

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

const (
	// garbage is how much of it may come together, about. Go would let it become as much as is in
	// use: much in a large fleet, though most of that is slabs without pointers, which are cheap to
	// collect; and little in a small one, which would be collected again and again.
	garbage = 64 << 20
	// perScanned is how many bytes more may come together for each that a collection has to scan.
	// Open incidents are full of pointers: without it, a storm of them had half of the processor
	// time collect garbage.
	perScanned = 3
)

// collectAt returns at how many percent of what is in use garbage is collected, if so much of it
// has to be scanned. What is in use may grow until that is set again, so more than most would
// become too much.
func collectAt(inUse, scanned int64) int {
	const least, most = 25, 200
	return int(max(least, min(most, 100*(garbage+perScanned*scanned)/max(inUse, 1))))
}

// tuner sets that percentage now and after each collection, until it is stopped: a fleet that
// reports for the first time makes what is in use many times as much within seconds.
type tuner struct {
	set     func(percent int)
	stopped atomic.Bool
}

func (t *tuner) tune() {
	if t.stopped.Load() {
		return
	}
	t.set(collectAt(inUse(), scanned()))
	// Nothing points to it, so the next collection finds it. It has a pointer, because what has
	// none may share its memory with what is still in use.
	runtime.AddCleanup(new(*tuner), (*tuner).tune, t)
}

func (t *tuner) stop() { t.stopped.Store(true) }

type heap struct {
	made uint64 // bytes since the start
	kept uint64 // of those, since memory was last given back
}

const (
	// littleMade is what a program that is quiet makes in a second, for probes and metrics.
	littleMade = 2 << 20
	// worthIt is how much has to be made before memory is given back: the collection that this
	// takes is a whole one.
	worthIt = 32 << 20
)

// giveBack gives memory back to the system once the program has become quiet. While it works, Go
// gives back little, because it will soon need it again; when it works no more, Go would not even
// collect the garbage that was made last. It is called once in a second.
func (m *memoryBound) giveBack(context.Context) error {
	if m.heap.idle(made()) {
		debug.FreeOSMemory()
	}
	return nil
}

// idle reports whether memory is to be given back, from what was made since the start.
func (h *heap) idle(made uint64) bool {
	since := made - h.made
	h.made, h.kept = made, h.kept+since
	if since > littleMade || h.kept < worthIt {
		return false
	}
	h.kept = 0
	return true
}

// inUse is what the last garbage collection left.
func inUse() int64 { return int64(metric("/gc/heap/live:bytes")) }

// scanned is how much the last garbage collection had to scan.
func scanned() int64 { return int64(metric("/gc/scan/heap:bytes")) }

// made is all that the program ever took of its heap.
func made() uint64 { return metric("/gc/heap/allocs:bytes") }

func metric(name string) uint64 {
	one := []metrics.Sample{{Name: name}}
	metrics.Read(one)
	return one[0].Value.Uint64()
}
