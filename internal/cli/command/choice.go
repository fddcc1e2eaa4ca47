package command

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/spell"
)

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
	// The only error is a second registration.
	_ = cmd.RegisterFlagCompletionFunc(name,
		cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// either is a flag that is true, false, or not given.
type either struct{ is **bool }

// Type implements pflag.Value.
func (e *either) Type() string { return "bool" }

// String implements pflag.Value.
func (e *either) String() string {
	if e.is == nil || *e.is == nil {
		return ""
	}
	return strconv.FormatBool(**e.is)
}

// Set implements pflag.Value.
func (e *either) Set(text string) error {
	is, err := strconv.ParseBool(text)
	if err != nil {
		return andon.Errorf(andon.Invalid, "it is neither true nor false")
	}
	*e.is = &is
	return nil
}

// Moment is a flag with a time as its value.
type Moment struct {
	At    *andon.Time
	Parse func(string) (andon.Time, error)
	Bound bool // of a range: a date alone is valid, and so is a time relative to now
}

// Type implements pflag.Value.
func (m *Moment) Type() string { return "time" }

// String implements pflag.Value.
func (m *Moment) String() string {
	if m.At == nil || *m.At == 0 {
		return ""
	}
	return m.At.String()
}

// Set implements pflag.Value.
func (m *Moment) Set(text string) (err error) {
	*m.At, err = m.Parse(text)
	if err != nil && m.Bound {
		return andon.Errorf(andon.Invalid,
			"%w; a date alone works, too, and 24h (ago), today, yesterday, now", err)
	}
	return err
}

// SpanFlags adds --from and --to to a command.
func (p *Program) SpanFlags(cmd *cobra.Command, from, to *andon.Time) {
	lower := func(text string) (andon.Time, error) {
		return andon.ParseLowerBoundAt(text, p.Now())
	}
	upper := func(text string) (andon.Time, error) {
		return andon.ParseUpperBoundAt(text, p.Now())
	}
	cmd.Flags().Var(&Moment{from, lower, true}, "from",
		"earliest time, included: 2020-04-24T14:40:00Z, a date, 24h (ago), today, yesterday")
	cmd.Flags().Var(&Moment{to, upper, true}, "to",
		"latest time, included; a date alone, today and yesterday are whole days")
}
