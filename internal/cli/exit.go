package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
)

func exitCode(err error) int {
	switch {
	case err == nil:
		return command.ExitDone
	case errors.Is(err, command.ErrRejected):
		return command.ExitRejected
	case errors.Is(err, command.ErrConfig):
		return command.ExitConfig
	case andon.KindOf(err) == andon.Invalid:
		return command.ExitMisuse
	}
	return command.ExitFailed
}

// misuse returns the error for a wrong command line. It names the help.
func misuse(cmd *cobra.Command, err error) error {
	text := misuseText(cmd, err)
	return andon.Errorf(andon.Invalid, "%s\nSee %s --help.", text, cmd.CommandPath())
}

// misuseText describes what is wrong. The texts of the libraries name their own functions and
// types.
func misuseText(cmd *cobra.Command, err error) string {
	text := strings.TrimRight(err.Error(), "\n")
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if e.GetSpecifiedShortnames() != "" {
			return "unknown flag: -" + e.GetSpecifiedName()
		}
		return text + command.NearFlag(cmd, e.GetSpecifiedName())
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		kind, _ := pflag.UnquoteUsage(e.GetFlag())
		if !strings.Contains(kind, "|") { // these are the words to choose from
			kind = strings.ToUpper(kind)
		}
		return fmt.Sprintf("--%s needs a value: --%[1]s %s", e.GetFlag().Name, kind)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Sprintf("--%s %s: %s", e.GetFlag().Name, command.Quoted(e.GetValue()),
			invalidValue(e))
	}
	if m := exclusiveFlags.FindStringSubmatch(text); m != nil {
		return "--" + strings.Join(strings.Fields(m[1]), " and --") + " do not go together"
	}
	return text
}

// exclusiveFlags matches the error of cobra for flags that exclude each other.
var exclusiveFlags = regexp.MustCompile(`^if any flags in the group .*; \[(.*)\] were all set$`)

func invalidValue(e *pflag.InvalidValueError) string {
	cause := e.Unwrap()
	if n, ok := errors.AsType[*strconv.NumError](cause); ok {
		switch {
		case errors.Is(n.Err, strconv.ErrRange):
			return "the number is too large or too small"
		case n.Func == "ParseBool":
			return "it is neither true nor false"
		case n.Func == "ParseFloat":
			return "it is not a number"
		}
		return "it is not a whole number"
	}
	if strings.HasPrefix(cause.Error(), "time: ") { // package time has no type for it
		return "it is not a duration such as 30s, 5m or 1h30m"
	}
	return cause.Error()
}
