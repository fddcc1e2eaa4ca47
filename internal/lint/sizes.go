package lint

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
	"unicode/utf8"
)

// The sizes. Half of all functions have under a dozen lines; these are where a reader gives up.
const (
	longestLine     = 100 // columns, a tab counted as 4
	longestFile     = 600 // lines
	longestTest     = 800
	longestFunction = 60
	longestTestFunc = 80
	widestProse     = 100 // columns
)

func sizeRules() []Rule {
	return []Rule{
		{
			Name: fmt.Sprintf("lines of Go have at most %d columns", longestLine),
			Mend: "a line that needs more wants another name or another function",
			Find: longLines,
		},
		{
			Name: fmt.Sprintf("files have at most %d lines, tests %d", longestFile, longestTest),
			Mend: "split it by noun: keys.go, write.go, read.go",
			Find: longFiles,
		},
		{
			Name: fmt.Sprintf("functions have at most %d lines, in tests %d",
				longestFunction, longestTestFunc),
			Mend: "give its parts names of their own",
			Find: longFunctions,
		},
		{
			Name: fmt.Sprintf("prose wraps at %d columns", widestProse),
			Mend: "break the line; tables, code and links that stand alone may be longer",
			Find: wideProse,
		},
	}
}

func columns(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}

func longLines(t *Tree) (found []Problem) {
	for _, f := range t.Go {
		for i, line := range f.Lines {
			if n := columns(line); n > longestLine {
				found = append(found, Problem{f.Path, i + 1, fmt.Sprintf("%d columns", n)})
			}
		}
	}
	return found
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

func longFunctions(t *Tree) (found []Problem) {
	for _, f := range t.Go {
		most := longestFunction
		if f.Test {
			most = longestTestFunc
		}
		f.inspect(func(n ast.Node) {
			if fn, ok := n.(*ast.FuncDecl); ok && t.lines(fn) > most {
				text := fmt.Sprintf("%s has %d lines", fn.Name.Name, t.lines(fn))
				found = append(found, t.problem(fn.Pos(), "%s", text))
			}
		})
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
