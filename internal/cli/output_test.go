package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
)

// withoutAnswer are the commands that have no answer whose form could be chosen.
var withoutAnswer = map[string]string{
	"andon archive ddl":           "prints statements, to be run",
	"andon archive read":          "prints what andon import reads",
	"andon backup":                "a sentence, once it is done",
	"andon completion bash":       "prints a script",
	"andon completion fish":       "prints a script",
	"andon completion powershell": "prints a script",
	"andon completion zsh":        "prints a script",
	"andon config check":          "its exit code is the answer",
	"andon demo":                  "a server, and lines about it",
	"andon help":                  "prints help",
	"andon man":                   "writes files",
	"andon restore":               "a sentence, once it is done",
	"andon forward":               "a gateway",
	"andon serve":                 "a server",
	"andon store init":            "prints statements, to be run",
	"andon store rebuild latest":  "a sentence, once it is done",
	"andon store repair":          "reports to a person who decides",
	"andon verify":                "its exit code is the answer",
	"andon watch":                 "a line for each change",
	"andon store template":        "prints a template, in the form of another program",
}

// TestOneOutputFlag: -o, --output alone chooses the form of every answer, and Tab knows its words.
// What exports has --format for that, since -o names its file.
func TestOneOutputFlag(t *testing.T) {
	p := &command.Program{Now: func() andon.Time { return 0 }}
	for _, cmd := range leaves(rootCommand(p)) {
		path, flags, output := cmd.CommandPath(), cmd.Flags(), "output"
		exports := strings.HasPrefix(path, "andon export")
		if exports {
			output = "format"
			file := flags.Lookup("output")
			if path != "andon export config" && (file == nil || file.Shorthand != "o") {
				t.Errorf("%s has no -o, --output for its file", path)
			}
		}
		for _, other := range []string{"json", "format"} {
			f := flags.Lookup(other)
			// The form of a file.
			reads := path == "andon import" || path == "andon assign" ||
				path == "andon group import" || path == "andon store template"
			if f != nil && !(other == "format" && (reads || exports)) {
				t.Errorf("%s has --%s next to --output", path, other)
			}
		}
		f := flags.Lookup(output)
		if why := withoutAnswer[path]; why != "" {
			if f != nil {
				t.Errorf("%s has --output and is listed as without: %s", path, why)
			}
			continue
		}
		if f == nil || f.Shorthand != "o" && !exports || f.Hidden {
			t.Errorf("%s has no -o, --output, or --format", path)
			continue
		}
		words := strings.Split(f.Value.Type(), "|")
		if !slices.Contains(words, f.DefValue) && f.DefValue != "" || len(words) < 2 {
			t.Errorf("%s: --%s %s, initially %q", path, output, f.Value.Type(), f.DefValue)
		}
		complete, _ := cmd.GetFlagCompletionFunc(output)
		if complete == nil {
			t.Errorf("%s does not complete --%s", path, output)
			continue
		}
		if got, _ := complete(cmd, nil, ""); !slices.Equal(got, words) {
			t.Errorf("%s completes %v, want %v", path, got, words)
		}
		for _, word := range append(words, "nothing") {
			if err := flags.Set(output, word); (err == nil) != (word != "nothing") {
				t.Errorf("%s --%s %s: %v", path, output, word, err)
			}
		}
	}
}

// leaves returns the commands that do something.
func leaves(cmd *cobra.Command) (all []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		all = append(all, leaves(sub)...)
	}
	if isGroup := cmd.DisableFlagParsing; !isGroup {
		all = append(all, cmd)
	}
	return all
}

// TestOnce: what fails again for the same reason is said once.
func TestOnce(t *testing.T) {
	for text, want := range map[string]string{
		"write x: full\nwrite x: full":                  "write x: full",
		"1 event, then: write x: full\nwrite x: full\n": "1 event, then: write x: full\n",
		"read x\n\nSay so\nSay no":                      "read x\n\nSay so\nSay no",
		"one":                                           "one", "": "",
	} {
		if got := once(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
