package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/andonhq/andon/internal/enginetest"
)

// ring is the number of nodes of a ring.
const ring = 3

// One node and a ring have data of their own: a node that ran alone can't join others.
func (c *cluster) aloneDir() string { return filepath.Join(c.dir, "alone") }

func (c *cluster) ringDir() string { return filepath.Join(c.dir, "ring") }

type running struct {
	nodes []*enginetest.Node
	stop  func() error
}

// start starts the nodes and runs until the context is done, or a node has ended.
func (c *cluster) start(ctx context.Context) error {
	fmt.Fprintf(c.out, "Cassandra %s starts, with its data in %s ...\n", enginetest.Version, c.dir)
	_, missing := os.Stat(c.dir)
	isNew := errors.Is(missing, fs.ErrNotExist)
	r, err := c.launch(ctx)
	if err != nil && isNew {
		tidy(c.dir)
	}
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

func (c *cluster) launch(ctx context.Context) (running, error) {
	if c.nodes == ring {
		r, err := enginetest.StartRing(ctx, c.ringDir(), ring)
		if err != nil {
			return running{}, err
		}
		return running{r.Nodes(), r.Stop}, nil
	}
	if err := c.chooseAddr(); err != nil {
		return running{}, err
	}
	n, err := enginetest.StartCassandra(ctx, enginetest.Options{
		Dir: c.aloneDir(), Addr: c.addr, Heap: c.heap,
	})
	if err != nil {
		return running{}, err
	}
	return running{[]*enginetest.Node{n}, n.Stop}, nil
}

// chooseAddr makes sure that the address of a node is free before anything is made. A node that ran
// before keeps its address.
func (c *cluster) chooseAddr() error {
	found, err := enginetest.Find(c.aloneDir())
	ran := err == nil
	if ran {
		c.addr = found.Addr
	}
	if found.PID != 0 || !taken(c.addr) {
		return nil
	}
	switch {
	case ran:
		return fmt.Errorf("%s is taken, the address of the node in %s: end what listens there, or "+
			"name another directory by -dir", c.addr, found.Dir)
	case c.chosen:
		return fmt.Errorf("%s is taken: name another address by -addr; port 0 takes a free one",
			c.addr)
	}
	fmt.Fprintf(c.out, "%s is taken, so it takes a free port; -addr names one.\n", c.addr)
	c.addr = "127.0.0.1:0"
	return nil
}

func taken(addr string) bool {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return errors.Is(err, syscall.EADDRINUSE)
	}
	_ = l.Close()
	return false
}

// tidy removes the empty directories that a failed start has made.
func tidy(dir string) {
	var dirs []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	for _, path := range slices.Backward(dirs) {
		_ = os.Remove(path) // fails for one that is not empty
	}
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
