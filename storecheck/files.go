package storecheck

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Each file of scenarios holds many. A line "check SECTION NAME" begins one.
//
//go:embed scenarios
var files embed.FS

func scenarioChecks() []Check {
	names, err := fs.Glob(files, "scenarios/*.txt")
	if err != nil {
		panic("storecheck: " + err.Error()) // the pattern is wrong
	}
	var all []Check
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic("storecheck: " + err.Error()) // it is part of the program
		}
		all = append(all, checksOf(name, string(text))...)
	}
	return all
}

// checksOf splits a file of scenarios into its checks. What is wrong with the text of one is the
// error of its check.
func checksOf(file, text string) []Check {
	const title = "check "
	lines := strings.Split(text, "\n")
	var all []Check
	for i, line := range lines {
		rest, begins := strings.CutPrefix(line, title)
		if !begins {
			continue
		}
		body := lines[i+1:]
		next := slices.IndexFunc(body, func(l string) bool { return strings.HasPrefix(l, title) })
		if next >= 0 {
			body = body[:next]
		}
		section, name, _ := strings.Cut(rest, " ")
		run := func(ctx context.Context, e *Env) error {
			err := runText(ctx, e, strings.Join(body, "\n"), i+2) // lines are counted from 1
			if err != nil {
				err = fmt.Errorf("%s: %w", file, err)
			}
			return err
		}
		all = append(all, Check{Name: name, Section: section, Run: run, Server: true})
	}
	return all
}
