package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/spell"
)

// arguments are what a command takes beside its flags, as its usage line names them.
type arguments struct {
	words []string // "DEVICE", "[FILE]", "DEVICE...", "bash|zsh"
	with  string   // the flag with which that holds; "" where it always does
}

// checkArguments makes all commands hold their arguments against their usage lines: in one place,
// so that what is wrong is told alike. Groups have none, and a command that takes several forms
// looks for itself which of them is meant.
func checkArguments(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		checkArguments(below)
	}
	if a, plain := argumentsOf(cmd.Use); plain && !cmd.HasSubCommands() {
		cmd.Args = a.check
	}
}

// argumentsOf reads a usage line up to its first flag: flags are checked by themselves.
func argumentsOf(use string) (a arguments, plain bool) {
	for _, word := range strings.Fields(use)[1:] {
		if strings.HasPrefix(strings.TrimLeft(word, "(["), "--") {
			break
		}
		if strings.HasPrefix(word, "(") {
			return a, false
		}
		a.words = append(a.words, word)
	}
	return a, true
}

// check is a cobra.PositionalArgs.
func (a arguments) check(cmd *cobra.Command, args []string) error {
	for _, wrong := range []string{a.missing(len(args)), a.surplus(args), a.misspelt(args)} {
		if wrong != "" {
			return fmt.Errorf("%s\n%s", wrong, usage(cmd))
		}
	}
	return nil
}

func (a arguments) missing(given int) string {
	var names []string
	for i, word := range a.words {
		if i >= given && !isOptional(word) {
			names = append(names, named(word))
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " is missing"
	}
	return joined(names, " and ") + " are missing"
}

func (a arguments) surplus(args []string) string {
	n := len(a.words)
	if len(args) <= n || (n > 0 && isRepeated(a.words[n-1])) {
		return ""
	}
	var names, over []string
	for _, word := range a.words {
		names = append(names, named(word))
	}
	for _, arg := range args[n:] {
		over = append(over, quoted(arg))
	}
	takes := "it takes " + joined(names, " and ") + " alone"
	if n == 0 {
		takes = "it takes no arguments"
	}
	if a.with != "" {
		takes = "with " + a.with + " " + takes
	}
	if len(over) == 1 {
		return over[0] + " is one too many: " + takes
	}
	return joined(over, " and ") + " are too many: " + takes
}

// misspelt finds an argument that is none of the few words that may stand in its place.
func (a arguments) misspelt(args []string) string {
	for i, arg := range args[:min(len(args), len(a.words))] {
		words := strings.Split(a.words[i], "|")
		if len(words) == 1 || slices.Contains(words, arg) {
			continue
		}
		return fmt.Sprintf("%s is none of %s%s",
			quoted(arg), strings.Join(words, ", "), didYouMean(arg, words))
	}
	return ""
}

func isOptional(word string) bool { return strings.HasPrefix(word, "[") }
func isRepeated(word string) bool { return strings.HasSuffix(strings.TrimRight(word, "]"), "...") }

// named is how a word of the usage line is spoken of.
func named(word string) string {
	if words := strings.Split(word, "|"); len(words) > 1 {
		return joined(words, " or ")
	}
	return strings.TrimSuffix(strings.Trim(word, "[]"), "...")
}

// joined is "a, b and c".
func joined(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	end := len(names) - 1
	return strings.Join(names[:end], ", ") + last + names[end]
}

// few is the first of many names, so that a line stays one that a person reads.
func few[T ~string](names []T, most int) string {
	shown := make([]string, 0, most+1)
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, legible(string(name)))
	}
	if len(names) > most {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}

// quoted marks where something that was typed begins and ends.
func quoted(typed string) string { return `"` + legible(typed) + `"` }

// didYouMean proposes a name, where one is near.
func didYouMean(typed string, known []string) string {
	if near := spell.Nearest(typed, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// usage is the usage line of a command, and its first example.
func usage(cmd *cobra.Command) string {
	text := "Usage:   " + cmd.UseLine()
	first, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	if first, _, _ = strings.Cut(first, " # "); first != "" {
		text += "\nExample: " + strings.TrimSpace(first)
	}
	return text
}
