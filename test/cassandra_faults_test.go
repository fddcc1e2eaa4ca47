package test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
)

// patient returns a client that tries again while a server is busy or away.
func patient(t *testing.T, s *server) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{URL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// status returns what a path answers with.
func (s *server) status(t *testing.T, path string) (code int, said string, header http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

// ready waits until /readyz answers so, and returns how long that took.
func (s *server) ready(t *testing.T, want int) time.Duration {
	t.Helper()
	began := time.Now()
	eventually(t, patience, fmt.Sprintf("/readyz answers %d", want), func() error {
		code, said, header := s.status(t, "/readyz")
		if code == http.StatusServiceUnavailable && header.Get("Retry-After") == "" {
			t.Errorf("/readyz answers %s without Retry-After", said)
		}
		if code != want {
			return fmt.Errorf("it answers %d: %s", code, said)
		}
		return nil
	})
	return time.Since(began).Round(time.Millisecond)
}

// quickly are settings under which a server gives up soon, so that a test sees it do so. settling
// is what its keyspace is made with for that.
var (
	quickly  = []string{"--cassandra-timeout", "2s"}
	settling = []string{"--cassandra-settle", "10s"}
)

// TestCassandraFaults has the connections to Cassandra go wrong under one server, which goes on:
// what it acknowledged stays, and sending the rest again ends in the answers of the reference.
func TestCassandraFaults(t *testing.T) {
	t.Parallel()
	node := enginetest.Cassandra(t)
	p := newProxy(t, node.Addr())
	k := newKeyspace(t, []string{node.Addr()}, "state", settling...)
	k.hosts = []string{p.addr()}
	s := k.serve(t, quickly...)
	c, l := newClient(t, s), newLoad(t, 6)
	stop := l.start(t, c)
	l.goOn(t, 3)
	for _, f := range []struct {
		name  string
		fault fault
		met   func(m met) bool // what the test waits for
	}{
		{"late answers", fault{delay: 30 * time.Millisecond},
			func(m met) bool { return m.delayed > 0 }},
		{"connections that break in a request", fault{breaks: 20},
			func(m met) bool { return m.broken > 0 }},
		{"lost answers to writes", fault{swallow: true},
			func(m met) bool { return m.swallowed > 0 }},
		{"silence", fault{silent: true},
			func(m met) bool { return m.held > 0 }},
	} {
		refused := l.refused.Load()
		p.set(f.fault)
		<-time.After(2 * time.Second)
		eventually(t, patience, f.name, func() error {
			m, more := p.faultsMet(), l.refused.Load()-refused
			if !f.met(m) || f.fault.silent && more == 0 {
				return fmt.Errorf("so far it met %+v, %d are refused", m, more)
			}
			return nil
		})
		p.set(fault{})
		l.goOn(t, 3)
		t.Logf("%s: so far %d acknowledged, %d refused, the proxy met %+v", f.name,
			l.requestsAcknowledged(), l.refused.Load(), p.faultsMet())
	}
	stop()
	reader := patient(t, s)
	l.kept(t, reader)
	l.sendAgain(t, c)
	l.converges(t, 0, reader)
}

// TestCassandraLostAnswer: a write whose answer is lost is not acknowledged, and has happened all
// the same. Sent again it is there once.
func TestCassandraLostAnswer(t *testing.T) {
	t.Parallel()
	node := enginetest.Cassandra(t)
	p := newProxy(t, node.Addr())
	k := newKeyspace(t, []string{node.Addr()}, "state", settling...)
	k.hosts = []string{p.addr()}
	s := k.serve(t, quickly...)
	c := newClient(t, s)
	mustAppend := func(e andon.Event) {
		t.Helper()
		if result, err := patient(t, s).AppendEvents(t.Context(), []andon.Event{e}); err != nil ||
			result.Accepted != 1 {
			t.Fatalf("%+v, %v", result, err)
		}
	}
	first, second := entryOf("press", 0, "NORMAL"), entryOf("press", 60, "WARNING2")
	second.EscalatedTo = "" // the mark of an escalation is written before it, and waited for
	mustAppend(first)
	p.set(fault{swallow: true})
	_, err := c.AppendEvents(t.Context(), []andon.Event{second})
	answer, answered := errors.AsType[*client.Error](err)
	if !answered || answer.Status != http.StatusServiceUnavailable || answer.RetryAfter == 0 {
		t.Errorf("a write without an answer is answered %v", err)
	}
	p.set(fault{})
	if p.faultsMet().swallowed == 0 {
		t.Error("no answer was lost")
	}
	again, want := patient(t, s), []andon.Event{second, first}
	for _, when := range []string{"before it is sent again", "after that"} {
		got := collect(t, again.DeviceEvents(t.Context(), "press", client.Query{}))
		if !slices.Equal(got, want) {
			t.Errorf("%s there are %+v, want %+v", when, got, want)
		}
		if result, err := again.AppendEvents(t.Context(), []andon.Event{second}); err != nil ||
			result.Accepted != 1 {
			t.Fatalf("sent again: %+v, %v", result, err)
		}
	}
	d, err := c.Device(t.Context(), "press")
	if err != nil || d.State != second.State || d.Since != second.Time {
		t.Errorf("the device shows %+v, %v", d, err)
	}
}

// TestCassandraAway: while Cassandra can't be reached the server says so, and it serves again by
// itself when it can.
func TestCassandraAway(t *testing.T) {
	t.Parallel()
	node := enginetest.Cassandra(t)
	p := newProxy(t, node.Addr())
	k := newKeyspace(t, []string{node.Addr()}, "buckets", settling...)
	k.hosts = []string{p.addr()}
	s := k.serve(t, quickly...)
	c, l := newClient(t, s), newLoad(t, 4)
	stop := l.start(t, c)
	l.goOn(t, 3)
	p.set(fault{cut: true})
	t.Logf("/readyz says no after %s", s.ready(t, http.StatusServiceUnavailable))
	eventually(t, patience, "a request is refused", func() error {
		if l.refused.Load() == 0 {
			return errors.New("none is")
		}
		return nil
	})
	if code, said, _ := s.status(t, "/livez"); code != http.StatusOK {
		t.Errorf("/livez answers %d: %s", code, said)
	}
	code, said, header := s.status(t, "/api/v1/devices/line-0%2F0")
	if code != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
		t.Errorf("a query is answered %d: %s %v", code, said, header)
	}
	t.Logf("a query is answered: %s", said)
	p.set(fault{})
	t.Logf("/readyz says yes after %s", s.ready(t, http.StatusOK))
	l.goOn(t, 3)
	stop()
	t.Logf("%d requests acknowledged, %d refused", l.requestsAcknowledged(), l.refused.Load())
	l.kept(t, patient(t, s))
	l.sendAgain(t, c)
	l.converges(t, 0, patient(t, s))
}
