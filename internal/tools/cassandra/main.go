// Command cassandra runs Apache Cassandra on this machine, to try Andon on it: one node, or a ring
// of three, on loopback addresses, with its data in a directory.
//
// With -share it runs a command, as make test does, and a node for the tests of that command.
//
// It needs Java 17, and Maven the first time. It must not be used for data that matters: the nodes
// are set up for tests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

const usage = `usage: go run ./internal/tools/cassandra [flags]

It runs until Ctrl-C; the data stays.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(max(1, ended.ExitCode())) // a command says itself why
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cassandra:", err)
		stop()
		os.Exit(1)
	}
}

type cluster struct {
	dir, addr, heap string
	nodes           int
	out             io.Writer
}

func run(ctx context.Context, args []string, out io.Writer) error {
	c := &cluster{out: out}
	flags := flag.NewFlagSet("cassandra", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&c.dir, "dir", "", "`directory` of the data "+
		"(default andon/cassandra in the user's cache)")
	flags.IntVar(&c.nodes, "nodes", 1, "`number` of nodes, 1 or 3; each has its data")
	flags.StringVar(&c.addr, "addr", "127.0.0.1:9042", "`address` of one node at its first start; "+
		"port 0 takes a free one")
	flags.StringVar(&c.heap, "heap", "", "heap of one node (default 768m)")
	share := flags.Bool("share", false, "run a command with a node that its tests share")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case *share:
		return c.share(ctx, flags.Args())
	case flags.NArg() > 0:
		return fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	if err := c.check(); err != nil {
		return err
	}
	return c.start(ctx)
}

func (c *cluster) check() error {
	if c.nodes != 1 && c.nodes != ring {
		return fmt.Errorf("-nodes is %d, and not 1 or %d", c.nodes, ring)
	}
	if c.dir != "" {
		return nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("%w: name a directory by -dir", err)
	}
	c.dir = filepath.Join(cache, "andon", "cassandra")
	return nil
}
