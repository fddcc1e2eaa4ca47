package local

import (
	"os"
	"runtime"
)

// AnotherProcessor has Go run on one processor more than there are, unless GOMAXPROCS says on how
// many. A goroutine keeps a processor of Go for up to 10 ms, and what has come over the network is
// looked for when one of them is free, or after 10 ms. So where batches, rounds and garbage keep
// all of them busy, a small request waits for that. With one more there mostly is a free one, and
// the system shares the processors of the machine out in shorter turns. Two more are no better:
// the collector of garbage takes a part of each.
func AnotherProcessor() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.SetDefaultGOMAXPROCS() // so that it is one, however often it is asked for
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
}
