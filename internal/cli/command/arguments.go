package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/cli/draw"
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
