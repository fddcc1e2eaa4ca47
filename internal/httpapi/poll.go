package httpapi

import (
	"net"
	"runtime"
	"syscall"
	"time"
)

// poll looks for the next request of a client that asks one question after the other. Where nothing
// else goes on, a connection that waits has its processor halt, and to wake it up takes as long as
// a short answer. A client whose next request came soon is expected to be as quick again; for any
// other there is nothing to wait awake for.
type poll struct {
	raw   syscall.RawConn // nil: the connection can't be polled
	try   func(fd uintptr) bool
	into  []byte
	n     int // what the last try has read; 0 at the end, negative where there is nothing
	quick bool
}

const (
	// pollFor is about what a client takes that reads an answer and asks again.
	pollFor = 50 * time.Microsecond
	// quickly is that with the time that both take to wake up.
	quickly = 3 * pollFor
)

func newPoll(c net.Conn) *poll {
	p := &poll{}
	if s, ok := c.(syscall.Conn); ok {
		p.raw, _ = s.SyscallConn()
	}
	p.try = func(fd uintptr) bool {
		p.n = readNow(fd, p.into)
		return true
	}
	return p
}

// read reads what comes soon, while no others are served: they need the processor. It returns 0
// where nothing came, or where the next read is to say what is wrong.
func (p *poll) read(into []byte, begun time.Time, alone func() bool) int {
	if !p.quick || p.raw == nil {
		return 0
	}
	p.into = into
	for alone() && time.Since(begun) < pollFor {
		if p.raw.Read(p.try) != nil || p.n == 0 {
			return 0
		}
		if p.n > 0 {
			return p.n
		}
		runtime.Gosched()
	}
	return 0
}

// waited notes how long the next request took to come.
func (p *poll) waited(took time.Duration) { p.quick = took < quickly }
