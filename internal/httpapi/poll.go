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
	conn  *deadlineConn
	quick bool
}

const (
	// pollFor is about what a client takes that reads an answer and asks again.
	pollFor = 50 * time.Microsecond
	// quickly is that with the time that both take to wake up.
	quickly = 3 * pollFor
)

// read reads what comes soon, while no others are served: they need the processor. It returns 0
// where nothing came, or where the next read is to say what is wrong.
func (p *poll) read(into []byte, begun time.Time, alone func() bool) int {
	if !p.quick {
		return 0
	}
	for alone() && time.Since(begun) < pollFor {
		if n := p.conn.readNow(into); n >= 0 {
			return n
		}
		runtime.Gosched()
	}
	return 0
}

// waited notes how long the next request took to come.
func (p *poll) waited(took time.Duration) { p.quick = took < quickly }

// reading reads a connection without waiting.
type reading struct {
	conn syscall.RawConn
	try  func(fd uintptr) bool
	into []byte
	n    int // what the last try has read; 0 at the end, negative where there is nothing
}

// newReading returns nil where a connection can't be read so.
func newReading(c net.Conn) *reading {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	conn, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	r := &reading{conn: conn}
	r.try = func(fd uintptr) bool {
		r.n = readNow(fd, r.into)
		return true
	}
	return r
}

// readNow reads what is there. It returns a negative number where nothing is, and 0 where the next
// read is to say what is wrong.
func (c *deadlineConn) readNow(p []byte) int {
	r := c.reading
	if r == nil || len(p) == 0 {
		return 0
	}
	r.into = p
	for {
		err := r.conn.Read(r.try)
		if err == nil {
			return r.n
		}
		if !c.reads.early(err, c.Conn.SetReadDeadline) {
			return 0
		}
	}
}
