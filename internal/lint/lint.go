// Package lint holds the rules of this repository that no linter can check: links between
// documents, pages that are generated from the code, and how large each package may be. They are
// tests, which read the files of the repository as text. What a linter can check is in
// .golangci.yml: who may import what, lengths, names and comments. The package ruleguard below has
// the rules that need a pattern of code.
package lint
