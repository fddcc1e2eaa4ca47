// Package live has the commands that follow a fleet as it changes: "watch", and "demo", which
// starts a server and simulates a fleet. Both print lines; the picture of a fleet is the board.
package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// sleeper waits until d has passed, or until the context ends, which is the error.
type sleeper func(ctx context.Context, d time.Duration) error

// errClosed means that nobody reads the output any more: "| head".
var errClosed = errors.New("standard output is closed")

// printLine prints a line. It fails with errClosed once nobody reads the output.
func printLine(w io.Writer, format string, args ...any) error {
	if _, err := fmt.Fprintf(w, format+"\n", args...); err != nil {
		return errClosed
	}
	return nil
}

// unlessEnded returns an error, or nil if the error means only that the user ended the command or
// stopped reading its output.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, errClosed) {
		return nil
	}
	return err
}
