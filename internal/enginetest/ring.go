package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"sync"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// leastRing is the number of replicas that Cassandra keeps of its own tables, by which a ring is
// asked whether it is whole.
const leastRing = 3

// Ring is a few nodes that are one cluster, on 127.0.0.1, 127.0.0.2 and so on, which Linux has and
// macOS has to be given. Replication is up to each keyspace.
type Ring struct{ nodes []*Node }

// StartRing starts a ring of at least 3 nodes and returns once each sees all others. The context
// bounds the start. Discard ends the ring, and what it has.
func StartRing(ctx context.Context, nodes int) (*Ring, error) {
	if nodes < leastRing {
		return nil, fmt.Errorf("a ring has at least %d nodes, not %d", leastRing, nodes)
	}
	r := &Ring{}
	if err := r.start(ctx, nodes); err != nil {
		r.Discard()
		return nil, err
	}
	return r, nil
}

func (r *Ring) start(ctx context.Context, nodes int) error {
	if err := r.prepare(ctx, nodes); err != nil {
		return err
	}
	for i, n := range r.nodes {
		if err := n.launch(); err != nil {
			return err
		}
		if i == 0 { // the others ask it for the members
			if err := n.waitForStorage(ctx); err != nil {
				return err
			}
		}
	}
	if err := r.each(func(n *Node) error { return n.wait(ctx) }); err != nil {
		return err
	}
	return r.AwaitWhole(ctx)
}

// prepare makes the nodes, all at the same ports, with the tokens in equal parts.
func (r *Ring) prepare(ctx context.Context, nodes int) error {
	var hosts []string
	for i := range nodes {
		hosts = append(hosts, fmt.Sprintf("127.0.0.%d", i+1))
	}
	p, err := freePorts(hosts...)
	if err != nil {
		return err
	}
	for i, host := range hosts {
		part := math.MaxUint64 / uint64(nodes) * uint64(i)
		n, err := newNode(ctx, Options{
			Addr: net.JoinHostPort(host, "0"),
			Heap: "512m",
			ring: place{token: int64(part) + math.MinInt64, seed: hosts[0], ports: p},
		})
		if err != nil {
			return err
		}
		r.nodes = append(r.nodes, n)
	}
	return nil
}

// waitForStorage waits until other nodes can reach one.
func (n *Node) waitForStorage(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longestSilence)
	defer cancel()
	address := net.JoinHostPort(n.host(), strconv.Itoa(n.ports.Storage))
	return eventually(ctx, func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return c.Close()
	})
}

// AwaitWhole waits until each node sees all others as they are now, so that no write is refused for
// want of replicas. It takes all nodes to run.
func (r *Ring) AwaitWhole(ctx context.Context) error {
	const longest = 10 * time.Minute // a node that was killed rejoins in 100 s on a quiet machine
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if err := eventually(ctx, r.whole); err != nil {
		return fmt.Errorf("wait until the ring is whole: %w", err)
	}
	return nil
}

// whole returns why a ring is not.
//
// A node that was killed and is back may still be taken for alive by one that has not seen either,
// and will drop it for a moment when it does. So first all must agree when each was started.
func (r *Ring) whole(ctx context.Context) error {
	const cql = "SELECT address, generation FROM system_views.gossip_info"
	first := ""
	for _, n := range r.nodes {
		starts, err := n.query(ctx, cql, gocql.One)
		if err != nil {
			return fmt.Errorf("ask %s for the others: %w", n.address, err)
		}
		if first == "" {
			first = starts
		}
		if first != starts {
			return fmt.Errorf("%s and %s disagree on when each was started",
				r.nodes[0].address, n.address)
		}
	}
	return r.each(func(n *Node) error {
		if err := n.seesAll(ctx); err != nil {
			return fmt.Errorf("ask all of %s: %w", n.address, err)
		}
		return nil
	})
}

// seesAll asks all replicas of a table that Cassandra keeps three of, over all its ranges.
func (n *Node) seesAll(ctx context.Context) error {
	const cql = "SELECT id FROM system_distributed.repair_history LIMIT 1"
	_, err := n.query(ctx, cql, gocql.All)
	return err
}

// Nodes returns the nodes in the order of their addresses.
func (r *Ring) Nodes() []*Node { return r.nodes }

// Addrs returns where the nodes answer CQL.
func (r *Ring) Addrs() (all []string) {
	for _, n := range r.nodes {
		all = append(all, n.Addr())
	}
	return all
}

// Kill ends node i, from 0, by SIGKILL.
func (r *Ring) Kill(i int) error { return r.nodes[i].Kill() }

// Restart starts node i, from 0, again and returns once it answers; AwaitWhole says when the others
// see it.
func (r *Ring) Restart(ctx context.Context, i int) error { return r.nodes[i].Restart(ctx) }

// Stop ends all nodes as their operators do: one after the other, since each tells those that run
// that it leaves.
func (r *Ring) Stop() error {
	var errs []error
	for _, n := range r.nodes {
		errs = append(errs, n.Stop())
	}
	return errors.Join(errs...)
}

// Discard kills all nodes, and removes what they have.
func (r *Ring) Discard() {
	for _, n := range r.nodes {
		n.Discard()
	}
}

// each does something with all nodes at once.
func (r *Ring) each(do func(*Node) error) error {
	errs := make([]error, len(r.nodes))
	var all sync.WaitGroup
	for i, n := range r.nodes {
		all.Go(func() { errs[i] = do(n) })
	}
	all.Wait()
	return errors.Join(errs...)
}
