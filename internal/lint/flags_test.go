package lint_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	helpSection = regexp.MustCompile("(?ms)^## (andon[a-z -]*)$\n\n```\n(.*?)^```$")
	helpFlag    = regexp.MustCompile(`(?m)^  +(?:-\w, )?--([a-z][a-z0-9-]*)`)
	fence       = regexp.MustCompile("(?ms)^ *```[^\n]*\n(.*?)^ *```$")
	span        = regexp.MustCompile("`([^`]+)`")
	saidCommand = regexp.MustCompile(`\bandon((?: [a-z][a-z-]*)*)([^|;&#)]*)`)
	saidFlag    = regexp.MustCompile(`(?:^|\s)--([a-z][a-z0-9-]*)`)
)

// helpOfAll returns the help of each command by its name, as docs/commands.md has it, which is
// compared with the program elsewhere.
func helpOfAll(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range helpSection.FindAllStringSubmatch(string(text), -1) {
		all[m[1]] = m[2]
	}
	if len(all) < 50 {
		t.Fatalf("only %d commands were found", len(all))
	}
	return all
}

// TestCommandsHaveExamples: whoever asks a command for help sees how it is called.
func TestCommandsHaveExamples(t *testing.T) {
	for name, help := range helpOfAll(t) {
		if !strings.Contains(help, "\nExamples:\n") {
			t.Errorf("%s --help has no example", name)
		}
	}
}

// TestFlagsOfPages: each flag that a page names next to a command is one of that command.
func TestFlagsOfPages(t *testing.T) {
	all := helpOfAll(t)
	checked := 0
	tree := repository(t)
	for name := range tree.pages() {
		if strings.HasPrefix(name, "docs/decisions/") || name == "docs/commands.md" {
			continue
		}
		lines := tree[name]
		text := strings.ReplaceAll(strings.Join(lines, "\n"), "\\\n", " ")
		var said []string
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			said = append(said, strings.Split(m[1], "\n")...)
		}
		for _, m := range span.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			said = append(said, strings.Join(strings.Fields(m[1]), " "))
		}
		for _, line := range said {
			for _, m := range saidCommand.FindAllStringSubmatch(line, -1) {
				command := "andon" + m[1]
				for all[command] == "" {
					command = command[:strings.LastIndexByte(command, ' ')]
				}
				if command == "andon" {
					continue // the name of an image, a service, a group
				}
				for _, f := range saidFlag.FindAllStringSubmatch(m[2], -1) {
					checked++
					if !hasFlag(all[command], f[1]) {
						t.Errorf("%s: %s has no flag --%s", name, command, f[1])
					}
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d flags were found", checked)
	}
}

func hasFlag(help, name string) bool {
	for _, m := range helpFlag.FindAllStringSubmatch(help, -1) {
		if m[1] == name {
			return true
		}
	}
	return false
}
