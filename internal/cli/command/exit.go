package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/spell"
)

// The exit codes. The last two are for the supervisor of a server. A panic ends a Go program with
// 2, so a server does not use 2 for anything that a restart can't fix.
const (
	ExitDone     = 0
	ExitFailed   = 1
	ExitMisuse   = 2  // the command line or the configuration is wrong
	ExitRejected = 3  // done, but some of the input was rejected
	ExitStore    = 4  // the store can't go on: restart
	ExitConfig   = 78 // a server's configuration is wrong: do not restart; EX_CONFIG of sysexits.h
)

// ErrRejected means that the command did its work, but not with all of its input.
var ErrRejected = errors.New("some of the input was rejected")

// ErrConfig marks errors of the configuration of a server, whose texts stay.
var ErrConfig = errors.New("")

// OfConfig marks an error of the kind Invalid as one of the configuration.
func OfConfig(err error) error {
	if err != nil && andon.KindOf(err) == andon.Invalid {
		return fmt.Errorf("%w%w", err, ErrConfig)
	}
	return err
}

// NearFlag proposes a flag of the command with a similar name; "" if there is none.
func NearFlag(cmd *cobra.Command, name string) string {
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := spell.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean --%s?", near)
	}
	return ""
}
