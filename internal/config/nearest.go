package config

import (
	"fmt"
	"strings"
)

// didYouMean returns a question that names the candidate nearest to a name, or nothing where none
// is near.
func didYouMean(name string, candidates []string) string {
	if near := Nearest(name, candidates); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// Nearest returns the candidate that takes the fewest edits to reach from name, or one that name
// begins; "" where the edits would be more than a third of it and one. The prefix of variables
// does not count: it would make short names alike.
func Nearest(name string, candidates []string) string {
	short := strings.TrimPrefix(name, prefix)
	best, least := "", len(short)/3+2
	for _, c := range candidates {
		if d := distance(short, strings.TrimPrefix(c, prefix)); d < least {
			best, least = c, d
		}
	}
	for _, c := range candidates {
		if best == "" && len(short) > 2 && strings.HasPrefix(c, name) {
			best = c
		}
	}
	return best
}

// distance counts the bytes to insert, remove or replace to make one text of the other
// (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
