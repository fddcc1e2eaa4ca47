package httpapi

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// crowd is the connections of a listener whose clients are being served. Once one is answered, its
// goroutine looks for the next request at once. In a crowd the client has had no processor yet to
// send it, so there is nothing, and the goroutine is put aside and woken again: two system calls,
// and a look of the runtime at all connections. So in a crowd the others are served first, and most
// often the request is there by then.
type crowd struct {
	served  atomic.Int64
	enough  int64 // of them are a crowd
	giveWay func()

	questions sync.Pool // room for them
}

// newCrowd makes a crowd of more connections than can be served at once. Where there are fewer,
// giving way would wake a processor that has nothing to do.
func newCrowd() *crowd {
	const each = 4 // for a processor
	return &crowd{enough: each * int64(runtime.GOMAXPROCS(0)), giveWay: runtime.Gosched}
}

// place is that of a connection in a crowd.
type place struct {
	crowd *crowd
	taken atomic.Bool
}

// enter notes that something of a request was read.
func (p *place) enter() {
	if p.taken.CompareAndSwap(false, true) {
		p.crowd.served.Add(1)
	}
}

// leave notes that a client was answered, or that more of its request is needed. In a crowd it
// gives way.
func (p *place) leave() {
	if p.end() && p.crowd.served.Load() >= p.crowd.enough {
		p.crowd.giveWay()
	}
}

// end ends the place, and reports whether there was one.
func (p *place) end() bool {
	if !p.taken.CompareAndSwap(true, false) {
		return false
	}
	p.crowd.served.Add(-1)
	return true
}
