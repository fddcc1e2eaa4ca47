package command

import (
	"cmp"
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
		if len(args) == 0 || args[0] == "-h" {
			return nil
		}
		word, isFlag := strings.CutPrefix(args[0], "-")
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "-"), "=")
		switch {
		case !isFlag:
			return UnknownCommand(cmd, args[0])
		case cmd.Flags().Lookup(name) != nil:
			return nil
		}
		return fmt.Errorf("unknown flag: %s%s", draw.Legible(args[0]),
			cmp.Or(NearFlag(cmd, name), "; flags of a command come after its name"))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
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
