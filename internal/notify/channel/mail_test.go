package channel_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
)

// TestMailIsAccepted: a server that has taken a mail has taken it, however the connection ends.
func TestMailIsAccepted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			takeMail(c)
		}
	}()
	to := opened(t, "email", "", "smtp+plain://"+l.Addr().String())
	m := message(1)
	m.Address = "liz@example.org"
	said, err := to.Send(t.Context(), m)
	if err != nil || !strings.Contains(said, "queued as 7") {
		t.Errorf("%q, %v", said, err)
	}
}

// takeMail speaks SMTP until a mail has come, and then hangs up.
func takeMail(c net.Conn) {
	defer c.Close()
	fmt.Fprint(c, "220 here\r\n")
	lines, text := bufio.NewScanner(c), false
	for lines.Scan() {
		switch line := lines.Text(); {
		case text && line == ".":
			fmt.Fprint(c, "250 queued as 7\r\n")
			return
		case text:
		case line == "DATA":
			text = true
			fmt.Fprint(c, "354 go on\r\n")
		default:
			fmt.Fprint(c, "250 well\r\n")
		}
	}
}
