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
	"github.com/andonhq/andon/internal/spell"
)

// The exit codes, which scripts rely on, and two for what supervises a server. A crash of the
// program itself ends it with 2, as every program of Go: so a server does not end with 2 for
// anything that a restart could not mend.
const (
	exitDone     = 0
	exitFailed   = 1
	exitMisuse   = 2  // the command line or the configuration is wrong
	exitRejected = 3  // done, but some of the input was rejected
	exitStore    = 4  // the store can't go on: restart
	exitConfig   = 78 // a server's configuration is wrong: do not restart; EX_CONFIG of sysexits.h
)

// errRejected is the outcome of a command that did its work but not with all of its input.
var errRejected = errors.New("some of the input was rejected")

// errConfig marks what is wrong with the configuration of a server.
var errConfig = errors.New("the configuration is wrong")

// configError marks an error that is one of configuration; its text stays.
type configError struct{ error }

// Unwrap is of package errors.
func (e configError) Unwrap() []error { return []error{e.error, errConfig} }

// ofConfig marks what is Invalid as the fault of the configuration.
func ofConfig(err error) error {
	if err != nil && andon.KindOf(err) == andon.Invalid {
		return configError{err}
	}
	return err
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errRejected):
		return exitRejected
	case errors.Is(err, errConfig):
		return exitConfig
	case andon.KindOf(err) == andon.Invalid:
		return exitMisuse
	}
	return exitFailed
}

// misuse is the error of a command line that was not understood. It says where help is.
func misuse(cmd *cobra.Command, err error) error {
	text := misuseText(cmd, err)
	return andon.Errorf(andon.Invalid, "%s\nSee %s --help.", text, cmd.CommandPath())
}

// misuseText says what is wrong in the words of this program: those of the libraries name their own
// functions and data types.
func misuseText(cmd *cobra.Command, err error) string {
	text := strings.TrimRight(err.Error(), "\n")
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if e.GetSpecifiedShortnames() != "" {
			return "unknown flag: -" + e.GetSpecifiedName()
		}
		return text + nearFlag(cmd, e.GetSpecifiedName())
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		kind, _ := pflag.UnquoteUsage(e.GetFlag())
		if !strings.Contains(kind, "|") { // those are the words to choose from
			kind = strings.ToUpper(kind)
		}
		return fmt.Sprintf("--%s needs a value: --%[1]s %s", e.GetFlag().Name, kind)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Sprintf("--%s %s: %s", e.GetFlag().Name, quoted(e.GetValue()), invalidValue(e))
	}
	if m := exclusiveFlags.FindStringSubmatch(text); m != nil {
		return "--" + strings.Join(strings.Fields(m[1]), " and --") + " do not go together"
	}
	return text
}

// exclusiveFlags is what cobra says of flags of which one alone may be given.
var exclusiveFlags = regexp.MustCompile(`^if any flags in the group .*; \[(.*)\] were all set$`)

// invalidValue says of what form a value must be.
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
	if strings.HasPrefix(cause.Error(), "time: ") { // package time knows no other way to say so
		return "it is not a length of time such as 30s, 5m or 1h30m"
	}
	return cause.Error()
}

func nearFlag(cmd *cobra.Command, name string) string {
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := spell.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean --%s?", near)
	}
	return ""
}
