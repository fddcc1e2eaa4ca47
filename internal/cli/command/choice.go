package command

import (
	"slices"
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
		return func(text string) (andon.Time, error) {
			t, err := parse(text, p.Now())
			if err != nil {
				err = andon.Errorf(andon.Invalid, "%w; a date alone works, too, and 24h (ago), "+
					"today, yesterday, now", err)
			}
			return t, err
		}
	}
	ParsedFlag(cmd, from, "from", "earliest `time`, included: 2020-04-24T14:40:00Z, a date, "+
		"24h (ago), today, yesterday", bound(andon.ParseLowerBoundAt))
	ParsedFlag(cmd, to, "to", "latest `time`, included; a date alone, today and yesterday are "+
		"whole days", bound(andon.ParseUpperBoundAt))
}
