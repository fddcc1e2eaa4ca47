// Command cassandra runs Apache Cassandra on this machine, to try Andon on it: one node on a
// loopback address, with its data in a directory.
//
// With -share it runs a command, as make test does, and a node for the tests of that command.
//
// It needs Java 17, and Maven the first time. It must not be used for data that matters: the node
// is set up for tests.
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

	"github.com/andonhq/andon/internal/enginetest"
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

func run(ctx context.Context, args []string, out io.Writer) error {
	var o enginetest.Options
	flags := flag.NewFlagSet("cassandra", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.Dir, "dir", "", "`directory` of the data "+
		"(default andon/cassandra in the user's cache)")
	flags.StringVar(&o.Addr, "addr", "127.0.0.1:9042", "`address`; port 0 takes a free one")
	command := flags.Bool("share", false, "run a command with a node that its tests share")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case *command:
		return share(ctx, flags.Args())
	case flags.NArg() > 0:
		return fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	return start(ctx, o, out)
}

// start starts a node and runs until the context is done, or the node has ended.
func start(ctx context.Context, o enginetest.Options, out io.Writer) error {
	if o.Dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("%w: name a directory by -dir", err)
		}
		o.Dir = filepath.Join(cache, "andon", "cassandra", "alone")
	}
	fmt.Fprintf(out, "Cassandra %s starts, with its data in %s ...\n", enginetest.Version, o.Dir)
	n, err := enginetest.StartCassandra(ctx, o)
	switch {
	case ctx.Err() != nil: // it was stopped meanwhile
		return nil
	case err != nil:
		return err
	}
	fmt.Fprintf(out, `It answers on %s. In another terminal, after make build:

  export ANDON_STORE=cassandra ANDON_CASSANDRA_HOSTS=%[1]s
  bin/andon store init
  bin/andon serve

Ctrl-C here ends Cassandra and keeps its data.
`, n.Addr())
	_ = n.Wait(ctx) // it ended, or the context did
	fmt.Fprintln(out, "Cassandra stops; its data stays.")
	return n.Stop()
}
