package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/spell"
)

// Group returns a command that only has subcommands. Cobra would take a misspelt subcommand for an
// argument, and reject its flags first.
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.DisableFlagParsing = true
	cmd.DisableFlagsInUseLine = true
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 || isFlagOf(cmd, args[0]):
			return nil
		case strings.HasPrefix(args[0], "-"):
			return misplacedFlag(cmd, args[0])
		}
		return UnknownCommand(cmd, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// misplacedFlag returns the error for a flag that the group does not have. A subcommand may have
// it.
func misplacedFlag(cmd *cobra.Command, word string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if near := NearFlag(cmd, name); near != "" {
		return fmt.Errorf("unknown flag: %s%s", draw.Legible(word), near)
	}
	return fmt.Errorf("unknown flag: %s; flags of a command come after its name",
		draw.Legible(word))
}

// isFlagOf reports whether a word is a flag of the command, which has only flags without values.
func isFlagOf(cmd *cobra.Command, word string) bool {
	if name, long := strings.CutPrefix(word, "--"); long {
		return cmd.Flags().Lookup(name) != nil
	}
	letter, short := strings.CutPrefix(word, "-")
	return short && len(letter) == 1 && cmd.Flags().ShorthandLookup(letter) != nil
}

// UnknownCommand returns an error that proposes a command: one with this name in another group, one
// with a similar name, or else all of them.
func UnknownCommand(cmd *cobra.Command, name string) error {
	for _, sub := range cmd.Commands() {
		for _, below := range sub.Commands() {
			if below.Name() == name && !destroys(name) {
				return fmt.Errorf("unknown command %s; did you mean %s?",
					Quoted(name), below.CommandPath())
			}
		}
	}
	harmless := slices.DeleteFunc(namesOf(cmd), destroys)
	if near := spell.DidYouMean(name, harmless); near != "" {
		return fmt.Errorf("unknown command %s%s", Quoted(name), near)
	}
	return fmt.Errorf("unknown command %s: there are %s",
		Quoted(name), strings.Join(namesOf(cmd), ", "))
}

// destroys reports whether a command deletes for good. Such a command is never proposed: a user who
// mistyped another must not paste it.
func destroys(name string) bool {
	return name == "delete" || name == "retire" || name == "withdraw" || name == "restore"
}

func namesOf(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}
