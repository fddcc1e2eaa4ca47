package lint_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// tree is the files of the repository by path, as lines. A file that is not text has none.
type tree map[string][]string

// readTree reads all files but those that are built.
func readTree(root fs.FS) (tree, error) {
	built := []string{".git", "bin", "dist", "andon-data", "node_modules", "test-results"}
	t := tree{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(built, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		content, err := fs.ReadFile(root, name)
		t[name] = nil
		const longest = 1 << 20 // what is longer is data
		if len(content) <= longest && utf8.Valid(content) && bytes.IndexByte(content, 0) < 0 {
			t[name] = strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
		}
		return err
	})
	return t, err
}

// contains reports whether there is a file or a directory of that name.
func (t tree) contains(name string) bool {
	if _, ok := t[name]; ok {
		return true
	}
	for file := range t {
		if strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}

// pages returns the documents, with the lines of code in them emptied.
func (t tree) pages() map[string][]string {
	pages := map[string][]string{}
	for name, lines := range t {
		if path.Ext(name) == ".md" && !strings.Contains("/"+name, "/testdata/") {
			pages[name] = prose(lines)
		}
	}
	return pages
}

func prose(lines []string) []string {
	plain, code := make([]string, len(lines)), false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence {
			code = !code
		}
		if !code && !fence {
			plain[i] = line
		}
	}
	return plain
}

// program returns the files of Go outside tests.
func (t tree) program() tree {
	program := tree{}
	for name, lines := range t {
		if path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") &&
			!strings.Contains("/"+name, "/testdata/") {
			program[name] = lines
		}
	}
	return program
}

// problem is one place that breaks a rule, as compilers write it.
func problem(name string, line int, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", name, line, fmt.Sprintf(format, args...))
}
