package enginetest

import (
	"context"
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon/internal/parallel"
)

// Ring is a few nodes that are one cluster, on 127.0.0.1, 127.0.0.2 and so on, which Linux has and
// macOS has to be given. Replication is up to each keyspace.
type Ring struct{ Nodes []*Node }

// start starts the nodes, and returns once each sees all others.
func (r *Ring) start(ctx context.Context, nodes int) error {
	if err := r.prepare(ctx, nodes); err != nil {
		return err
	}
	for i, n := range r.Nodes {
		if err := n.launch(); err != nil {
			return err
		}
		if i == 0 { // the others ask it for the members
			if err := n.waitForStorage(ctx); err != nil {
				return err
			}
		}
	}
	if err := r.each(ctx, func(n *Node) error { return n.wait(ctx) }); err != nil {
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
		r.Nodes = append(r.Nodes, n)
	}
	return nil
}

// waitForStorage waits until other nodes can reach one.
func (n *Node) waitForStorage(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longestSilence)
	defer cancel()
	address := net.JoinHostPort(n.host(), strconv.Itoa(n.ports.Storage))
	return eventually(ctx, listens(address))
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
	for _, n := range r.Nodes {
		starts, err := n.query(ctx, cql, gocql.One)
		if err != nil {
			return fmt.Errorf("ask %s for the others: %w", n.address, err)
		}
		if first == "" {
			first = starts
		}
		if first != starts {
			return fmt.Errorf("%s and %s disagree on when each was started",
				r.Nodes[0].address, n.address)
		}
	}
	return r.each(ctx, func(n *Node) error {
		// Cassandra keeps three replicas of this table, and all of them are asked, over all ranges.
		const cql = "SELECT id FROM system_distributed.repair_history LIMIT 1"
		if _, err := n.query(ctx, cql, gocql.All); err != nil {
			return fmt.Errorf("ask all of %s: %w", n.address, err)
		}
		return nil
	})
}

// Addrs returns where the nodes answer CQL.
func (r *Ring) Addrs() (all []string) {
	for _, n := range r.Nodes {
		all = append(all, n.Addr())
	}
	return all
}

func (r *Ring) discard() {
	for _, n := range r.Nodes {
		n.Discard()
	}
}

// each does something with all nodes at once.
func (r *Ring) each(ctx context.Context, do func(*Node) error) error {
	n := len(r.Nodes)
	return parallel.Do(ctx, n, n, func(_ context.Context, i int) error { return do(r.Nodes[i]) })
}
