package lint

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
	"unicode/utf8"
)

// The sizes at which a reader gives up. Those of lines and functions are in .golangci.yml.
const (
	longestFile = 600 // lines
	longestTest = 800
	widestProse = 100 // columns
)

func sizeRules() []Rule {
	return []Rule{
		{
			Name: fmt.Sprintf("files have at most %d lines, tests %d", longestFile, longestTest),
			Mend: "split it by noun: keys.go, write.go, read.go",
			Find: longFiles,
		},
		{
			Name: fmt.Sprintf("prose wraps at %d columns", widestProse),
			Mend: "break the line; tables, code and links that stand alone may be longer",
			Find: wideProse,
		},
	}
}

func longFiles(t *Tree) (found []Problem) {
	for _, f := range t.Go {
		most := longestFile
		if f.Test {
			most = longestTest
		}
		if n := len(f.Lines); n > most {
			found = append(found, Problem{f.Text.Path, 0, fmt.Sprintf("%d lines", n)})
		}
	}
	return found
}

func (t *Tree) lines(n ast.Node) int {
	return t.fset.Position(n.End()).Line - t.fset.Position(n.Pos()).Line + 1
}

// FunctionLines returns the lengths of all functions of the program, in lines.
func FunctionLines(t *Tree) (lengths []int) {
	for _, f := range t.program() {
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				lengths = append(lengths, t.lines(fn))
			}
		}
	}
	return lengths
}

func wideProse(t *Tree) (found []Problem) {
	for _, text := range t.Texts {
		if path.Ext(text.Path) != ".md" {
			continue
		}
		for i, line := range prose(text.Lines) {
			if n := utf8.RuneCountInString(line); n > widestProse && !standsAlone(line) {
				found = append(found, Problem{text.Path, i + 1, fmt.Sprintf("%d columns", n)})
			}
		}
	}
	return found
}

// standsAlone reports whether a line can't be broken: a row of a table, a heading,
// an image or a link.
func standsAlone(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") ||
		!strings.Contains(strings.TrimLeft(line, "-*> "), " ")
}

// prose returns the lines of a page of Markdown with those of code emptied.
func prose(lines []string) []string {
	plain := make([]string, len(lines))
	code := false
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		if !code {
			plain[i] = line
		}
	}
	return plain
}
