package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon/internal/spell"
)

// didYouMean returns a question that names the candidate nearest to a name, or nothing where none
// is near.
func didYouMean(name string, candidates []string) string {
	if near := Nearest(name, candidates); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// Nearest returns the candidate nearest to a name, as spell.Nearest does. The prefix of variables
// does not count: it would make short names alike.
func Nearest(name string, candidates []string) string {
	short := make([]string, len(candidates))
	for i, c := range candidates {
		short[i] = strings.TrimPrefix(c, prefix)
	}
	near := spell.Nearest(strings.TrimPrefix(name, prefix), short)
	if i := slices.Index(short, near); i >= 0 {
		return candidates[i]
	}
	return ""
}
