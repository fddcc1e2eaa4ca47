//go:build ruleguard

// Package gorules has rules of the linter that need a pattern of code. golangci-lint reads it, and
// no program is built of it.
package gorules

import "github.com/quasilyte/go-ruleguard/dsl"

// orOfErrors forbids cmp.Or over errors. It calls all of its arguments: what follows a step that
// failed is done all the same. A merge deleted acknowledged entries so.
func orOfErrors(m dsl.Matcher) {
	m.Match(`cmp.Or($first, $*rest)`).
		Where(m["first"].Type.Is("error")).
		Report("cmp.Or evaluates all of its arguments: check each error before the next step, " +
			"or join them by errors.Join")
}

// unkeptErrors forbids to print on Stdout itself, whose errors nobody looks at: a backup that could
// not say so ended with exit code 0.
func unkeptErrors(m dsl.Matcher) {
	m.Match(
		`fmt.Fprint($p.Stdout, $*rest)`, `fmt.Fprintln($p.Stdout, $*rest)`,
		`fmt.Fprintf($p.Stdout, $*rest)`,
	).Report("print on the Program, which keeps the error for the exit code")
}
