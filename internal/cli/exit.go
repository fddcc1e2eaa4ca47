package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/spell"
)

// The exit codes, which scripts rely on, and one for a supervisor to restart on.
const (
	exitDone     = 0
	exitFailed   = 1
	exitMisuse   = 2 // the command line or the configuration is wrong
	exitRejected = 3 // done, but some of the input was rejected
	exitDisk     = 4 // the disk of the store failed
)

// errRejected is the outcome of a command that did its work but not with all of its input.
var errRejected = errors.New("some of the input was rejected")

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errRejected):
		return exitRejected
	case andon.KindOf(err) == andon.Invalid:
		return exitMisuse
	}
	return exitFailed
}

// misuse is the error of a command line that was not understood. It says where help is.
func misuse(cmd *cobra.Command, err error) error {
	hint := ""
	if e := (*pflag.NotExistError)(nil); errors.As(err, &e) {
		hint = nearFlag(cmd, e.GetSpecifiedName())
	}
	text := strings.TrimRight(err.Error(), "\n")
	return andon.Errorf(andon.Invalid, "%s%s\nSee %s --help.", text, hint, cmd.CommandPath())
}

func nearFlag(cmd *cobra.Command, name string) string {
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := spell.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean --%s?", near)
	}
	return ""
}
