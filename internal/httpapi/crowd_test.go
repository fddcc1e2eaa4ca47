package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestACrowdGivesWay: a connection that was answered lets others go first while enough are served,
// and otherwise reads on at once.
func TestACrowdGivesWay(t *testing.T) {
	gave := 0
	crowd := &crowd{enough: 2, giveWay: func() { gave++ }}
	places := make([]place, 4)
	for i := range places {
		places[i].crowd = crowd
		places[i].leave() // nothing was read yet
		places[i].enter()
		places[i].enter() // the rest of a request
	}
	for i, want := range []int{1, 2, 2, 2} {
		places[i].leave()
		places[i].leave()
		if gave != want {
			t.Errorf("behind %d answers places gave way %d times, want %d", i+1, gave, want)
		}
	}
	places[0].enter()
	places[0].end()
	places[0].end()
	if n := crowd.served.Load(); n != 0 {
		t.Errorf("%d are served once all are answered or gone", n)
	}
}

// TestAConnectionIsServedUntilItIsAnswered: connections count while their requests are served, and
// those that wait for one, or are closed, do not.
func TestAConnectionIsServedUntilItIsAnswered(t *testing.T) {
	asked, answered, closed := make(chan struct{}), make(chan struct{}), make(chan struct{}, 3)
	address, problems := served(t, &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked <- struct{}{}
			<-answered
			_, _ = io.WriteString(w, "a")
		}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				closed <- struct{}{}
			}
		},
	})
	const conns = 3
	clients := [conns]net.Conn{}
	for i := range clients {
		clients[i] = dial(t, address)
		end := []string{"close", "keep-alive", "keep-alive"}[i] // by the server, or by the client
		fmt.Fprintf(clients[i], "GET / HTTP/1.1\r\nHost: a\r\nConnection: %s\r\n\r\n", end)
		<-asked
	}
	if n := problems.crowd.served.Load(); n != conns {
		t.Errorf("%d connections are served, want %d", n, conns)
	}
	close(answered)
	for _, c := range clients {
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		c.Close()
		<-closed
	}
	if n := problems.crowd.served.Load(); n != 0 {
		t.Errorf("%d connections are served behind their end", n)
	}
}

// TestALongCallIsNotOfTheCrowd: many streams may be open, and have nothing to do.
func TestALongCallIsNotOfTheCrowd(t *testing.T) {
	crowd := &crowd{enough: 1}
	w := &watchedConn{place: place{crowd: crowd}}
	w.enter()
	r := httptest.NewRequestWithContext(Watched(t.Context(), w), "GET", "/", nil)
	c := &call{
		API: &API{ending: t.Context()}, r: r, life: &lifetime{request: r.Context()},
		x: &exchange{ResponseWriter: httptest.NewRecorder()},
	}
	c.untilStopped()
	for _, end := range c.undo {
		end()
	}
	if n := crowd.served.Load(); n != 0 {
		t.Errorf("%d connections are served beside a stream", n)
	}
}

// served serves by a server until the end of the test.
func served(t *testing.T, s *http.Server) (address string, l problemListener) {
	t.Helper()
	var lc net.ListenConfig
	below, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = Problems(below).(problemListener)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return below.Addr().String(), l
}
