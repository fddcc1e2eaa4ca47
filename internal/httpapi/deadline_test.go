package httpapi

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// timedConn counts how often its timers are set.
type timedConn struct {
	net.Conn
	reads, writes int
}

func (c *timedConn) SetReadDeadline(t time.Time) error {
	c.reads++
	return c.Conn.SetReadDeadline(t)
}

func (c *timedConn) SetWriteDeadline(t time.Time) error {
	c.writes++
	return c.Conn.SetWriteDeadline(t)
}

// timedPipe returns a connection with deadlines, what it counts, and the other end.
func timedPipe() (c *deadlineConn, timers *timedConn, other net.Conn) {
	ours, other := net.Pipe()
	timers = &timedConn{Conn: ours}
	return &deadlineConn{Conn: timers}, timers, other
}

// TestLaterDeadlinesSetNoTimer: of deadlines that each request moves on, the first one alone sets a
// timer, and one that comes nearer does so, too.
func TestLaterDeadlinesSetNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, timers, _ := timedPipe()
		defer c.Close()
		for range 100 {
			for _, deadline := range []time.Time{
				time.Now().Add(10 * time.Second), {}, time.Now().Add(time.Minute), {},
			} {
				if err := c.SetDeadline(deadline); err != nil {
					t.Fatal(err)
				}
			}
			<-time.After(time.Millisecond)
		}
		if timers.reads != 1 || timers.writes != 1 {
			t.Errorf("timers were set %d and %d times, want once", timers.reads, timers.writes)
		}
		if err := c.SetReadDeadline(time.Now().Add(time.Second)); err != nil || timers.reads != 2 {
			t.Errorf("%v, and the timer was set %d times, want twice", err, timers.reads)
		}
	})
}

// TestDeadlinesThatAreMoved: a read and a write end at their deadline, wherever the timer of an
// earlier or later one stood; without one they go on.
func TestDeadlinesThatAreMoved(t *testing.T) {
	for name, moved := range map[string][]time.Duration{
		"on":   {time.Second, time.Minute},
		"back": {time.Hour, time.Minute},
		"off":  {time.Second, 0, time.Minute},
		"past": {-time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := timedPipe()
				defer c.Close()
				begun := time.Now()
				for _, after := range moved {
					deadline := begun.Add(after)
					if after == 0 {
						deadline = time.Time{}
					}
					if err := c.SetDeadline(deadline); err != nil {
						t.Fatal(err)
					}
				}
				_, readErr := c.Read(make([]byte, 1))
				took := time.Since(begun)
				_, writeErr := c.Write([]byte("a"))
				for _, err := range []error{readErr, writeErr} {
					if !errors.Is(err, os.ErrDeadlineExceeded) || took != time.Minute {
						t.Errorf("%v after %s, want a timeout after a minute", err, took)
					}
				}
			})
		})
	}
}

// TestADeadlineThatIsLifted: what waits beyond the timer of a deadline that is lifted meanwhile
// goes on, and what was written before is not written again.
func TestADeadlineThatIsLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, other := timedPipe()
		if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := c.Write([]byte("answer"))
			_ = c.Close()
			if err != nil {
				t.Error(err)
			}
		}()
		first := make([]byte, 2)
		if _, err := io.ReadFull(other, first); err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if rest, err := io.ReadAll(other); string(first)+string(rest) != "answer" || err != nil {
			t.Errorf("got %q and %q, %v; want all of the answer once", first, rest, err)
		}
	})
}

// TestPartsGoOnBehindATimer: an answer in two parts is sent behind the timer of an earlier request,
// and what waits when that comes goes on.
func TestPartsGoOnBehindATimer(t *testing.T) {
	for name, readsAt := range map[string]time.Duration{"past": 0, "while it waits": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, _, other := timedPipe()
				c := &watchedConn{problemConn: &problemConn{deadlineConn{Conn: inner.Conn}}}
				_ = c.SetWriteDeadline(time.Now().Add(time.Second))
				if readsAt == 0 {
					<-time.After(time.Minute)
				}
				_ = c.SetWriteDeadline(time.Now().Add(time.Hour))
				c.out.waiting = []byte("head, ")
				go func() {
					n, err := c.Write([]byte("rest"))
					_ = c.Close()
					if n != len("rest") || err != nil {
						t.Errorf("%d bytes, %v", n, err)
					}
				}()
				<-time.After(readsAt)
				if got, err := io.ReadAll(other); string(got) != "head, rest" || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
			})
		})
	}
}

// TestADeadlineEndsAReadThatWaits: net/http breaks off a read by a deadline in the past.
func TestADeadlineEndsAReadThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := timedPipe()
		defer c.Close()
		if err := c.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() {
			_, err := c.Read(make([]byte, 1))
			ended <- err
		}()
		synctest.Wait()
		if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the read ended with %v, want a timeout", err)
		}
	})
}

// deadlines notes the deadlines of an answer.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// TestEachPartHasItsTime: each part of a long answer has a deadline of its own.
func TestEachPartHasItsTime(t *testing.T) {
	d := &deadlines{ResponseWriter: httptest.NewRecorder()}
	x := &exchange{ResponseWriter: d, eachWrite: time.Hour}
	for range 3 {
		if _, err := x.Write([]byte("part")); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.set) != 3 || time.Until(d.set[2]) < time.Hour/2 {
		t.Errorf("the deadlines were %v", d.set)
	}
}

// TestHeartbeatUnlessAsked: a stream that asks for no heartbeat has one, too.
func TestHeartbeatUnlessAsked(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 15 * time.Second, "2s": 2 * time.Second, "15s": 15 * time.Second,
	} {
		c := &call{query: url.Values{"heartbeat": {text}}}
		if got := c.heartbeat(); got != want || len(c.wrong) > 0 {
			t.Errorf("%q: %s, %v, want %s", text, got, c.wrong, want)
		}
	}
}
