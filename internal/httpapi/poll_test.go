package httpapi

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// TestPoll: what a client sends soon is read without waiting for it to come, where the one before
// came soon and no others are served; the end and errors are left to the next read.
func TestPoll(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client := dial(t, l.Addr().String())
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	yes, no := func() bool { return true }, func() bool { return false }
	conn := newDeadlineConn(c)
	p, room := poll{conn: &conn}, make([]byte, 10)
	none := func(what string, alone func() bool) {
		t.Helper()
		if n := p.read(room, time.Now(), alone); n != 0 {
			t.Errorf("%s: read %d", what, n)
		}
	}
	p.waited(quickly - 1)
	none("nothing was sent", yes)
	if _, err := io.WriteString(client, "abc"); err != nil {
		t.Fatal(err)
	}
	none("beside others", no)
	p.waited(quickly)
	none("a slow client", yes)
	p.waited(0)
	n := 0
	for n == 0 { // until it has come
		n = p.read(room, time.Now(), yes)
	}
	if string(room[:n]) != "abc" {
		t.Errorf("read %q", room[:n])
	}
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	none("behind a deadline", yes)
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	client.Close()
	none("behind the end", yes)
	if _, err := c.Read(room); !errors.Is(err, io.EOF) {
		t.Errorf("then: %v", err)
	}
	ours, _ := net.Pipe()
	conn = newDeadlineConn(ours)
	p = poll{conn: &conn}
	p.waited(0)
	none("what can't be polled", yes)
}
