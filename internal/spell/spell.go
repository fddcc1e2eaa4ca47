// Package spell finds the known name that is closest to a misspelt one. It is pure and has no names
// of its own.
package spell

import "strings"

// Nearest returns the candidate that takes the fewest edits to reach from name, or one that name
// begins; "" where the edits would be more than a third of it and one. Case does not count.
func Nearest(name string, candidates []string) string {
	const longest = 64 // a longer name is not a typing error
	if len(name) > longest {
		return ""
	}
	best, least := "", len(name)/3+2
	for _, c := range candidates {
		if d := Distance(strings.ToLower(name), strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	for _, c := range candidates {
		if best == "" && len(name) > 2 && strings.HasPrefix(c, name) {
			best = c
		}
	}
	return best
}

// DidYouMean asks whether the candidate was meant that is nearest to a name, as the end of a
// message; "" where none is near.
func DidYouMean(name string, candidates []string) string {
	if near := Nearest(name, candidates); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// Distance counts the bytes to insert, remove or replace to make one text of the other
// (Levenshtein).
func Distance(a, b string) int {
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
