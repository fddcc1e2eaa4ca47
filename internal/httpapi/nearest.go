package httpapi

// nearest returns the name that takes the fewest edits to reach from what was sent, or "" where
// even that changes more than half of it.
func nearest(sent string, names []string) string {
	best, least := "", len(sent)/2+1
	if len(sent) > 64 { // nobody's typo
		return ""
	}
	for _, name := range names {
		if d := edits(sent, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// edits counts the bytes to insert, remove or replace between two texts (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
