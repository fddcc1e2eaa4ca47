package test

import (
	"net/http"
	"syscall"
	"testing"

	"github.com/andonhq/andon/internal/enginetest"
)

// TestCassandraKillAndon kills a server under load again and again: wherever between an entry, what
// its device shows and its index rows that is, nothing acknowledged is lost, and sending the rest
// again ends in the answers of the reference.
func TestCassandraKillAndon(t *testing.T) {
	t.Parallel()
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	node := enginetest.Cassandra(t)
	k := newKeyspace(t, []string{node.Addr()}, "tables")
	l := newLoad(t, 6)
	s := k.serve(t)
	for range rounds {
		stop := l.start(t, newClient(t, s))
		l.goOn(t, 5)
		s.end(syscall.SIGKILL, -1)
		stop()
		s = k.serve(t)
		l.kept(t, patient(t, s))
	}
	t.Logf("%d entries acknowledged", l.count())
	l.sendAgain(t, newClient(t, s))
	l.converges(t, 0, patient(t, s))
}

// TestCassandraKillNode kills the only node of a cluster under load. It has everything when it is
// back, and the server goes on by itself.
func TestCassandraKillNode(t *testing.T) {
	t.Parallel()
	node := enginetest.OwnCassandra(t, enginetest.Options{})
	k := newKeyspace(t, []string{node.Addr()}, "view", settling...)
	s := k.serve(t, quickly...)
	c, l := newClient(t, s), newLoad(t, 6)
	stop := l.start(t, c)
	l.goOn(t, 5)
	if err := node.Kill(); err != nil {
		t.Fatal(err)
	}
	t.Logf("/readyz says no after %s", s.ready(t, http.StatusServiceUnavailable))
	if err := node.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("/readyz says yes %s after the node answers", s.ready(t, http.StatusOK))
	l.goOn(t, 3)
	stop()
	t.Logf("%d entries acknowledged, %d requests refused", l.count(), l.refused.Load())
	l.kept(t, patient(t, s))
	l.sendAgain(t, c)
	l.converges(t, 0, patient(t, s))
}
