package command

import (
	"encoding"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/spell"
)

// CompleteWords adds completion to a flag whose type is a few words ("table|json").
func CompleteWords(cmd *cobra.Command, flag, form string) {
	if words := strings.Split(form, "|"); len(words) > 1 {
		// The only error is a second registration.
		_ = cmd.RegisterFlagCompletionFunc(flag,
			cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// StateHelp is the help of a --state that selects.
const StateHelp = "only this `state`, several joined by commas, or a prefix: 'WARNING*'"

// DeviceFlags adds the flags that select devices, except --state.
func DeviceFlags(cmd *cobra.Command, q *client.DeviceQuery) {
	flags := cmd.Flags()
	flags.StringVar((*string)(&q.Operator), "operator", "", "only devices with this `operator`")
	flags.StringVar((*string)(&q.EscalatedTo), "escalated-to", "",
		"only devices escalated to this `supervisor`")
	TruthFlag(cmd, &q.Silent, "silent", "only devices that sent nothing for longer than the "+
		"tenant's silent_after; --silent=false: only the others")
	flags.StringVar(&q.Device, "device", "", "only this `device`, or a prefix: 'press*'")
	flags.StringVar((*string)(&q.Group), "group", "",
		"only devices in this `group` and below it; none: those in no group")
	flags.StringVar(&q.Label, "label", "", "only devices with this `label`: kind:press")
	flags.StringVar(&q.Near, "near", "", "only devices near this `place`: 52.5,13.4")
	flags.StringVar(&q.Within, "within", "", "with --near, up to this `distance`: 2km")
}

// TruthFlag adds a flag that is true, false or not given.
func TruthFlag(cmd *cobra.Command, to **bool, name, help string) {
	cmd.Flags().BoolFunc(name, help, func(text string) error {
		is, err := strconv.ParseBool(text)
		*to = &is
		return err
	})
}

// MetricsFlag adds --metrics to a command.
func MetricsFlag(cmd *cobra.Command, names *[]string) {
	cmd.Flags().StringSliceVar(names, "metrics", nil,
		"only these `names`; in CSV each is a column of its own")
}

// MetricNames returns what MetricsFlag read. The server checks names.
func MetricNames(names []string) []andon.MetricName {
	metrics := make([]andon.MetricName, len(names))
	for i, name := range names {
		metrics[i] = andon.MetricName(name)
	}
	return metrics
}

// OptionalFlag adds a flag whose value unmarshals itself; without the flag, into stays nil. help
// has the name of the value in backquotes.
func OptionalFlag[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](
	cmd *cobra.Command, into **T, name, help string,
) {
	cmd.Flags().Func(name, help, func(text string) error {
		*into = new(T)
		return P(*into).UnmarshalText([]byte(text))
	})
}

// Choice is a flag with one of a few words as its value.
type Choice struct {
	Value string
	words []string
}

// String implements pflag.Value.
func (c *Choice) String() string { return c.Value }

// Type implements pflag.Value.
func (c *Choice) Type() string { return strings.Join(c.words, "|") }

// Set implements pflag.Value.
func (c *Choice) Set(text string) error {
	if slices.Contains(c.words, text) {
		c.Value = text
		return nil
	}
	return andon.Errorf(andon.Invalid, "it is none of %s%s",
		strings.Join(c.words, ", "), spell.DidYouMean(text, c.words))
}

// ChoiceFlag adds a flag with one of a few words as its value. initial is one of them, or "".
func ChoiceFlag(cmd *cobra.Command, name, initial, help string, words ...string) *Choice {
	return choiceFlag(cmd, name, "", initial, help, words)
}

func choiceFlag(cmd *cobra.Command, name, letter, initial, help string, words []string) *Choice {
	c := &Choice{Value: initial, words: words}
	cmd.Flags().VarP(c, name, letter, help)
	CompleteWords(cmd, name, c.Type())
	return c
}

// ParsedFlag adds a flag whose value a function parses. help has the name of the value in
// backquotes.
func ParsedFlag[T any](
	cmd *cobra.Command, into *T, name, help string, parse func(string) (T, error),
) {
	cmd.Flags().Func(name, help, func(text string) (err error) {
		*into, err = parse(text)
		return err
	})
}

// SpanFlags adds --from and --to to a command. A date alone is valid, and so is a time relative to
// now.
func (p *Program) SpanFlags(cmd *cobra.Command, from, to *andon.Time) {
	type parser = func(string, andon.Time) (andon.Time, error)
	bound := func(parse parser) func(string) (andon.Time, error) {
		return func(text string) (andon.Time, error) { return parse(text, p.Now()) }
	}
	ParsedFlag(cmd, from, "from", "earliest `time`, included: 2020-04-24T14:40:00Z, a date, "+
		"24h (ago), today, yesterday", bound(andon.ParseLowerBoundAt))
	ParsedFlag(cmd, to, "to", "latest `time`, included; a date alone, today and yesterday are "+
		"whole days", bound(andon.ParseUpperBoundAt))
}

// The output formats. Each command has some of them.
const (
	FormatTable  = "table"  // for people
	FormatText   = "text"   // a sentence
	FormatJSON   = "json"   // a list is one object a line
	FormatNDJSON = "ndjson" // one object a line
	FormatCSV    = "csv"    // RFC 4180 with a header
	FormatYAML   = "yaml"
)

// OutputFlag adds -o, --output, which chooses the output format.
func OutputFlag(cmd *cobra.Command, initial, help string, words ...string) *Choice {
	return choiceFlag(cmd, "output", "o", initial, help, words)
}

// ReportFlag is OutputFlag for a report, which is a table unless the user asks for JSON.
func ReportFlag(cmd *cobra.Command, more ...string) *Choice {
	return OutputFlag(cmd, FormatTable, "format of the report",
		append([]string{FormatTable, FormatJSON}, more...)...)
}

// SentenceFlag is OutputFlag for a command that reports what it did in one sentence or as JSON.
func SentenceFlag(cmd *cobra.Command, initial string) *Choice {
	return OutputFlag(cmd, initial, "print the result as a sentence, or as JSON",
		FormatText, FormatJSON)
}

// Report prints the result of a command that has a SentenceFlag. What can't be written is kept, as
// by Write: the command goes on with what is left to do.
func (p *Program) Report(form *Choice, kept any, format string, args ...any) error {
	if form.Value != FormatJSON {
		fmt.Fprintf(p, format+"\n", args...)
		return nil
	}
	text, err := json.Marshal(kept)
	if err == nil {
		fmt.Fprintf(p, "%s\n", text)
	}
	return err
}
