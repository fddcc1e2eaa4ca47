package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value string
	words []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.words, "|") }

// Set takes one of the words.
func (c *choice) Set(text string) error {
	for _, word := range c.words {
		if word == text {
			c.value = text
			return nil
		}
	}
	return andon.Errorf(andon.Invalid, "it is none of %s%s",
		strings.Join(c.words, ", "), didYouMean(text, c.words))
}

// choiceFlag gives a command a flag that takes one of a few words, initially "" or one of them.
func choiceFlag(cmd *cobra.Command, name, initial, help string, words ...string) *choice {
	c := &choice{value: initial, words: words}
	cmd.Flags().Var(c, name, help)
	// It can only be an error to register a second one.
	_ = cmd.RegisterFlagCompletionFunc(name,
		cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// either is a flag that is true or false where it is given.
type either struct{ is **bool }

// Type is what the help shows as the value.
func (e *either) Type() string { return "bool" }

func (e *either) String() string {
	if e.is == nil || *e.is == nil {
		return ""
	}
	return strconv.FormatBool(**e.is)
}

// Set reads true or false.
func (e *either) Set(text string) error {
	is, err := strconv.ParseBool(text)
	if err != nil {
		return andon.Errorf(andon.Invalid, "it is neither true nor false")
	}
	*e.is = &is
	return nil
}

// moment is a flag that takes a time.
type moment struct {
	at    *andon.Time
	parse func(string) (andon.Time, error)
	bound bool // of a range: a date alone is of use, and what is relative to now
}

// Type is what the help shows as the value.
func (m *moment) Type() string { return "time" }

func (m *moment) String() string {
	if m.at == nil || *m.at == 0 {
		return ""
	}
	return m.at.String()
}

// Set reads the time.
func (m *moment) Set(text string) (err error) {
	*m.at, err = m.parse(text)
	if err != nil && m.bound {
		return andon.Errorf(andon.Invalid,
			"%w; a date alone works, too, and 24h (ago), today, yesterday, now", err)
	}
	return err
}

// spanFlags gives a command --from and --to.
func (p *program) spanFlags(cmd *cobra.Command, from, to *andon.Time) {
	lower := func(text string) (andon.Time, error) {
		return andon.ParseLowerBoundAt(text, p.now())
	}
	upper := func(text string) (andon.Time, error) {
		return andon.ParseUpperBoundAt(text, p.now())
	}
	cmd.Flags().Var(&moment{from, lower, true}, "from",
		"earliest time, included: 2020-04-24T14:40:00Z, a date, 24h (ago), today, yesterday")
	cmd.Flags().Var(&moment{to, upper, true}, "to",
		"latest time, included; a date alone, today and yesterday are whole days")
}
