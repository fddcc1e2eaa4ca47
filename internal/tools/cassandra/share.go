package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/andonhq/andon/internal/enginetest"
)

// share runs a command whose test binaries have one node in common, and ends the node after it.
// Where none can be started each of them tries by itself, and says what is missing.
func share(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("-share needs a command")
	}
	// The terminal interrupts the command, too, which says so to make.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	n, err := enginetest.StartCassandra(ctx, enginetest.Options{Forgetful: true, Brief: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, "cassandra: no node is shared:", err)
		return cmd.Run()
	}
	defer n.Discard()
	cmd.Env = append(os.Environ(), enginetest.SharedCassandra+"="+n.Addr())
	return cmd.Run()
}
