package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/andonhq/andon/internal/enginetest"
)

// ring is the number of nodes of a ring.
const ring = 3

type running struct {
	nodes []*enginetest.Node
	stop  func() error
}

// start starts the nodes and runs until the context is done, or a node has ended.
func (c *cluster) start(ctx context.Context) error {
	fmt.Fprintf(c.out, "Cassandra %s starts, with its data in %s ...\n", enginetest.Version, c.dir)
	r, err := c.launch(ctx)
	switch {
	case ctx.Err() != nil: // it was stopped meanwhile
		return nil
	case err != nil:
		return err
	}
	c.greet(r.nodes)
	untilOneEnds(ctx, r.nodes)
	fmt.Fprintln(c.out, "Cassandra stops; its data stays.")
	return r.stop()
}

// launch starts one node or a ring. Each has data of its own: a node that ran alone can't join
// others.
func (c *cluster) launch(ctx context.Context) (running, error) {
	if c.nodes == ring {
		r, err := enginetest.StartRing(ctx, filepath.Join(c.dir, "ring"), ring)
		if err != nil {
			return running{}, err
		}
		return running{r.Nodes(), r.Stop}, nil
	}
	n, err := enginetest.StartCassandra(ctx, enginetest.Options{
		Dir: filepath.Join(c.dir, "alone"), Addr: c.addr, Heap: c.heap,
	})
	if err != nil {
		return running{}, err
	}
	return running{[]*enginetest.Node{n}, n.Stop}, nil
}

func (c *cluster) greet(nodes []*enginetest.Node) {
	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, n.Addr())
	}
	fmt.Fprintf(c.out, `It answers on %s. In another terminal, after make build:

  export ANDON_STORE=cassandra ANDON_CASSANDRA_HOSTS=%s
  bin/andon store init
  bin/andon serve

Ctrl-C here ends Cassandra and keeps its data.
`, strings.Join(addrs, ", "), strings.Join(addrs, ","))
}

func untilOneEnds(ctx context.Context, nodes []*enginetest.Node) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, n := range nodes {
		go func() {
			defer cancel()
			_ = n.Wait(ctx) // it ended, or the context did
		}()
	}
	<-ctx.Done()
}
