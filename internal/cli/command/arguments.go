package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/spell"
)

// Arguments are the arguments of a command besides its flags, as its usage line names them.
type Arguments struct {
	Words []string // "DEVICE", "[FILE]", "DEVICE...", "bash|zsh"
	With  string   // the flag with which the command takes them; "": always
}

// CheckArguments makes all commands check their arguments against their usage lines. Groups have no
// arguments, and a command with alternative forms checks them itself. Help lists flags in the order
// of their declaration.
func CheckArguments(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		CheckArguments(below)
	}
	cmd.Flags().SortFlags = false
	isGroup := cmd.DisableFlagParsing
	if a, plain := argumentsOf(cmd.Use); plain && !isGroup {
		cmd.Args = a.Check
	}
}

// argumentsOf reads a usage line up to its first flag. plain is false if it has alternative forms.
func argumentsOf(use string) (a Arguments, plain bool) {
	for _, word := range strings.Fields(use)[1:] {
		if strings.HasPrefix(strings.TrimLeft(word, "(["), "--") {
			break
		}
		if strings.HasPrefix(word, "(") {
			return a, false
		}
		a.Words = append(a.Words, word)
	}
	return a, true
}

// Check is a cobra.PositionalArgs.
func (a Arguments) Check(cmd *cobra.Command, args []string) error {
	for _, wrong := range []string{a.missing(len(args)), a.surplus(args), a.misspelt(args)} {
		if wrong != "" {
			return fmt.Errorf("%s\n%s", wrong, usage(cmd))
		}
	}
	return nil
}

func (a Arguments) missing(given int) string {
	var names []string
	for i, word := range a.Words {
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
	return Joined(names, " and ") + " are missing"
}

func (a Arguments) surplus(args []string) string {
	n := len(a.Words)
	if len(args) <= n || (n > 0 && isRepeated(a.Words[n-1])) {
		return ""
	}
	var names, over []string
	for _, word := range a.Words {
		names = append(names, named(word))
	}
	for _, arg := range args[n:] {
		over = append(over, Quoted(arg))
	}
	takes := "it takes " + Joined(names, " and ") + " alone"
	if n == 0 {
		takes = "it takes no arguments"
	}
	if a.With != "" {
		takes = "with " + a.With + " " + takes
	}
	if len(over) == 1 {
		return over[0] + " is one too many: " + takes
	}
	return Joined(over, " and ") + " are too many: " + takes
}

// misspelt finds an argument that must be one of a few words and is not.
func (a Arguments) misspelt(args []string) string {
	for i, arg := range args[:min(len(args), len(a.Words))] {
		words := strings.Split(a.Words[i], "|")
		if len(words) == 1 || slices.Contains(words, arg) {
			continue
		}
		return fmt.Sprintf("%s is none of %s%s",
			Quoted(arg), strings.Join(words, ", "), spell.DidYouMean(arg, words))
	}
	return ""
}

func isOptional(word string) bool { return strings.HasPrefix(word, "[") }

func isRepeated(word string) bool { return strings.HasSuffix(strings.TrimRight(word, "]"), "...") }

// named returns the name of an argument without the marks of the usage line.
func named(word string) string {
	if words := strings.Split(word, "|"); len(words) > 1 {
		return Joined(words, " or ")
	}
	return strings.TrimSuffix(strings.Trim(word, "[]"), "...")
}

// Joined returns "a, b and c", if last is " and ".
func Joined(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	end := len(names) - 1
	return strings.Join(names[:end], ", ") + last + names[end]
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
