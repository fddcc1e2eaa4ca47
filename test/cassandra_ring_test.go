package test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
)

// ringTest is a ring of three nodes, with two servers on one keyspace of it.
type ringTest struct {
	*testing.T
	ring    *enginetest.Ring
	servers []*server
	clients []*client.Client
	load    *load
}

// TestRingLosesNothing kills one node after the other under two servers, then two at once. What was
// acknowledged at LOCAL_QUORUM stays, and in the end all answers are the reference's.
func TestRingLosesNothing(t *testing.T) {
	r := ringTest{T: t, ring: enginetest.OwnRing(t, 3), load: newLoad(t, 8)}
	k := newKeyspace(t, r.ring.Addrs(), "state", "--replication", "3")
	for range 2 {
		s := k.serve(t, "--cassandra-timeout", "4s", "--cassandra-recount", "5s")
		r.servers, r.clients = append(r.servers, s), append(r.clients, newClient(t, s))
	}
	r.under(func() { r.load.goOn(t, 10) })
	r.kill(1)
	r.under(func() { r.load.goOn(t, 20) })
	r.check("one node is dead")
	r.under(func() {
		r.load.pause.Store(int64(500 * time.Millisecond)) // the machine is small
		r.restart(1)
		r.load.pause.Store(int64(20 * time.Millisecond))
		r.load.goOn(t, 5)
	})
	r.under(func() {
		r.kill(2) // under way
		r.load.goOn(t, 20)
	})
	r.check("another is dead")
	r.twoDead()
	r.check("all are back")
	r.load.sendAgain(t, patient(t, r.servers[0]))
	r.load.converges(t, 90*time.Second, patient(t, r.servers[0]), patient(t, r.servers[1]))
}

// under does something while the senders send.
func (r ringTest) under(do func()) {
	r.Helper()
	stop := r.load.start(r.T, r.clients...)
	do()
	stop()
}

func (r ringTest) kill(node int) {
	r.Helper()
	if err := r.ring.Nodes[node].Kill(); err != nil {
		r.Fatal(err)
	}
}

// restart starts the one node that is dead and waits until all see each other.
func (r ringTest) restart(node int) {
	r.Helper()
	began := time.Now()
	if err := r.ring.Nodes[node].Restart(r.Context()); err != nil {
		r.Fatal(err)
	}
	if err := r.ring.AwaitWhole(r.Context()); err != nil {
		r.Fatal(err)
	}
	r.Logf("node %d is back after %s", node, time.Since(began).Round(time.Millisecond))
}

// check checks what both servers have.
func (r ringTest) check(when string) {
	r.Helper()
	began := time.Now()
	for _, s := range r.servers {
		r.load.kept(r.T, patient(r.T, s))
	}
	r.Logf("%s: %d entries acknowledged, %d requests refused so far, checked in %s", when,
		r.load.count(), r.load.refused.Load(), time.Since(began).Round(time.Millisecond))
}

// twoDead kills a second node and brings both back.
func (r ringTest) twoDead() {
	r.Helper()
	stop := r.load.start(r.T, r.clients...)
	r.kill(1)
	for i, s := range r.servers {
		took := s.ready(r.T, http.StatusServiceUnavailable)
		r.Logf("server %d: /readyz says no after %s", i, took)
		_, err := r.clients[i].Device(r.Context(), "line-0/0")
		answer, answered := errors.AsType[*client.Error](err)
		if !answered || answer.Status != http.StatusServiceUnavailable || answer.RetryAfter == 0 {
			r.Errorf("server %d: a query is answered %v", i, err)
		}
		r.Logf("server %d: a query is answered: %v", i, err)
	}
	r.load.pause.Store(int64(500 * time.Millisecond))
	if err := r.ring.Nodes[1].Restart(r.Context()); err != nil {
		r.Fatal(err)
	}
	for i, s := range r.servers { // two of three are enough
		r.Logf("server %d: /readyz says yes %s after the node answers", i,
			s.ready(r.T, http.StatusOK))
	}
	r.restart(2)
	r.load.goOn(r.T, 3)
	stop()
}
