package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Module is the path that the packages of the house are imported by.
const Module = "github.com/andonhq/andon"

// Tree is the files of the repository.
type Tree struct {
	Go    []*File // by path
	Texts []Text  // all files that are text, those of Go among them, by path
	names []string
	fset  *token.FileSet
}

// File is one file of Go.
type File struct {
	Path string // "internal/lint/tree.go"
	Dir  string // "internal/lint"; "" is the root
	Test bool   // its name ends in _test.go
	AST  *ast.File
	Text
}

// Text is one file of text.
type Text struct {
	Path  string
	Lines []string
}

// skipped are the directories that are not the repository's.
func skipped(name string) bool {
	return slices.Contains([]string{".git", "bin", "dist", "andon-data", "node_modules",
		"test-results"}, name)
}

// Parse reads a tree.
func Parse(root fs.FS) (*Tree, error) {
	t := &Tree{fset: token.NewFileSet()}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped(d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return t.add(name, content)
	})
	return t, err
}

func (t *Tree) add(name string, content []byte) error {
	t.names = append(t.names, name)
	const longest = 1 << 20 // what is longer is data
	if len(content) > longest || !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return nil
	}
	text := Text{Path: name, Lines: strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")}
	t.Texts = append(t.Texts, text)
	if path.Ext(name) != ".go" || strings.Contains("/"+name, "/testdata/") {
		return nil
	}
	const mode = parser.ParseComments | parser.SkipObjectResolution
	file, err := parser.ParseFile(t.fset, name, content, mode)
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	dir := path.Dir(name)
	if dir == "." {
		dir = ""
	}
	t.Go = append(t.Go, &File{
		Path: name, Dir: dir, Test: strings.HasSuffix(name, "_test.go"), AST: file, Text: text,
	})
	return nil
}

// problem makes a problem of a place in a file of Go.
func (t *Tree) problem(at token.Pos, format string, args ...any) Problem {
	place := t.fset.Position(at)
	return Problem{Path: place.Filename, Line: place.Line, Text: fmt.Sprintf(format, args...)}
}

func (t *Tree) program() []*File {
	return slices.DeleteFunc(slices.Clone(t.Go), func(f *File) bool { return f.Test })
}

func (f *File) inspect(visit func(ast.Node)) {
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if n != nil {
			visit(n)
		}
		return true
	})
}
