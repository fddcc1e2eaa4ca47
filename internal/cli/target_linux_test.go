package cli

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/andonhq/andon/internal/cli/command"
)

// deaf returns an address at which connections are neither taken nor refused: a socket whose queue
// is full.
func deaf(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
	for range 10 {
		conn, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Skip("the queue of a socket does not fill up here")
	return ""
}

// TestNobodyTakesConnections: an address at which nothing answers is given up long before a
// connection would time out.
func TestNobodyTakesConnections(t *testing.T) {
	d := newDesk(t)
	d.URL = "http://" + deaf(t)
	begun := time.Now()
	if code := d.types(t.Context(), "query", "states"); code != command.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	if got := d.err.String(); !strings.Contains(got, "Is a server running at "+d.URL+"?") {
		t.Errorf("it said %s", got)
	}
}
