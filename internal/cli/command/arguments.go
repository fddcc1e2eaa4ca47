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

// CheckArguments makes all commands check the number of their arguments against their usage lines.
// Groups have no arguments, and a command with alternative forms checks them itself. Help lists
// flags in the order of their declaration.
func CheckArguments(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		CheckArguments(below)
	}
	cmd.Flags().SortFlags = false
	isGroup := cmd.DisableFlagParsing
	words, _, _ := strings.Cut(cmd.Use+" --", " --")
	if !isGroup && !strings.Contains(words, "(") {
		cmd.Args = Arguments(strings.Fields(words)[1:]...)
	}
}

// Arguments checks the number of arguments against words of a usage line: "DEVICE", "[FILE]",
// "DEVICE...".
func Arguments(words ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		rest := args
		for _, word := range words {
			switch {
			case len(rest) == 0 && word[0] != '[':
				name := strings.TrimSuffix(word, "...")
				return fmt.Errorf("%s is missing\n%s", name, usage(cmd))
			case len(rest) == 0 || strings.Contains(word, "..."):
				rest = nil
			default:
				rest = rest[1:]
			}
		}
		if len(rest) > 0 {
			return fmt.Errorf("%s is one too many\n%s", Quoted(rest[0]), usage(cmd))
		}
		return nil
	}
}

// Few returns the first of many names, joined.
func Few[T ~string](names []T, most int) string {
	shown := make([]string, 0, most+1)
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, draw.Legible(string(name)))
	}
	if len(names) > most {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}

// Quoted puts what the user typed into quotes.
func Quoted(typed string) string { return `"` + draw.Legible(typed) + `"` }

func usage(cmd *cobra.Command) string {
	text := "Usage:   " + cmd.UseLine()
	first, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	if first, _, _ = strings.Cut(first, " # "); first != "" {
		text += "\nExample: " + strings.TrimSpace(first)
	}
	return text
}

// Group returns a command that only has subcommands: those below it. Cobra would take a misspelt
// subcommand for an argument, and reject its flags first.
func Group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(below...)
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
