package lint_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

var readRepository = sync.OnceValues(func() (tree, error) { return readTree(os.DirFS("../..")) })

// repository returns the files of the repository, which are read once.
func repository(t *testing.T) tree {
	t.Helper()
	files, err := readRepository()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestRules(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if found := r.find(repository(t)); len(found) > 0 {
				slices.Sort(found)
				t.Errorf("The rule: %s.\nTo fix it: %s.\n  %s", r.name, r.fix,
					strings.Join(found, "\n  "))
			}
		})
	}
}

// host joins the parts of a name that must not stand in a file of the repository, as this one is.
func host(parts ...string) string { return strings.Join(parts, ".") }

// broken is what breaks each rule in one place each: a file in an otherwise good repository, and a
// part of the problem. Rules are named by their beginning.
var broken = []struct{ rule, path, content, want string }{
	{"prose wraps", "README.md", strings.Repeat("wide ", 21), "105 columns"},
	{"files name", "Makefile", "export GOPROXY=https://" + host("proxy", "golang", "org"),
		"golang.org"},
	{"files name", "ui/package-lock.json",
		`"resolved": "https://` + host("registry", "npmjs", "org") + `/x"`, "npmjs"},
	{"files name", "README.md", "See /hom" + "e/me/andon.", "/hom"},
	{"files name", "event.go", "package andon\n\nconst c = \"/roo" + "t/x\"", "/roo"},
	{"links inside", "README.md", "# A\n[there](docs/none.md)", "docs/none.md"},
	{"links inside", "README.md", "# A\n[there](#b)", "README.md#b"},
	{"links inside", "docs/a.md", "# A\n[up](../README.md#none)", "README.md#none"},
	{"links inside", "README.md", `<img src="docs/none.svg">`, "docs/none.svg"},
	{"pages that", "event.go", "package andon\n\n// See NONE.md.", "NONE.md"},
	{"pages that", "event.go", "package andon\n\n// See docs/b.md and docs/a.md.", "docs/b.md"},
	{"names say", "event.go", "package andon\nfunc GetEvent() {}", "GetEvent"},
	{"names say", "event.go", "package andon\ntype EventManager struct{}", "EventManager"},
	{"names say", "internal/util/x.go", "package util", "package util"},
	{"an engine", "internal/app/x.go", "var isLocal = \"pebble\"", "pebble"},
	{"an engine", "internal/cli/measure/x.go", "\tflag(\"--cassandra-hosts\")", "hosts"},
	{"an engine", "internal/bench/x.go", "var s = S{Short: \"of Cassandra\"}", "Cassandra"},
	{"packages have", "client/x.go", "package client" + strings.Repeat("\n", 120),
		"client has 125 lines, and may"},
	{"packages have", "ARCHITECTURE.md",
		"# A\n| `.` | 2 |\n| `client` | 1000 |\n| `cmd/andon` | 4 |",
		"client has 4 lines, and may"},
	{"packages have", "ARCHITECTURE.md",
		"# A\n| `.` | 2 |\n| `client` | 4 |\n| `cmd/andon` | 5000 |", "is more than 4500"},
	{"packages have", "internal/spell/x.go", "package spell", "no row"},
	{"every page", "docs/lost.md", "# Lost", "nothing leads here"},
}

// good is a repository that breaks no rule.
func good() fstest.MapFS {
	files := fstest.MapFS{}
	for path, content := range map[string]string{
		"README.md": "# Andon, a board\n" +
			"[here](#andon-a-board), [pages](docs/a.md), <https://example.com>\n" +
			"[house](ARCHITECTURE.md)\n",
		"ARCHITECTURE.md":   "# House\n| `.` | 2 |\n| `client` | 4 |\n| `cmd/andon` | 4 |\n",
		"docs/a.md":         "# A\n[back](../README.md)\n```\n[not a link](none.md) in code\n```\n",
		"andon.go":          "// Package andon is it.\npackage andon\n",
		"client/client.go":  "// Package client asks.\npackage client\n\nvar x int\n",
		"client/x_test.go":  "package client_test\n",
		"cmd/andon/main.go": "// Command andon runs.\npackage main\n\nfunc main() {}\n",
	} {
		files[path] = &fstest.MapFile{Data: []byte(content)}
	}
	return files
}

func (r rule) findIn(t *testing.T, files fstest.MapFS) []string {
	t.Helper()
	read, err := readTree(files)
	if err != nil {
		t.Fatal(err)
	}
	return r.find(read)
}

// TestRulesCanFail breaks each rule in several ways.
func TestRulesCanFail(t *testing.T) {
	for _, r := range rules {
		if found := r.findIn(t, good()); len(found) > 0 {
			t.Errorf("%s: in a good repository: %q", r.name, found)
		}
		failed := false
		for _, b := range broken {
			if !strings.HasPrefix(r.name, b.rule) {
				continue
			}
			files := good()
			files[b.path] = &fstest.MapFile{Data: []byte(b.content + "\n")}
			found := r.findIn(t, files)
			if len(found) != 1 || !strings.Contains(found[0], b.want) {
				t.Errorf("%s: got %q, want one problem with %q", r.name, found, b.want)
			}
			failed = true
		}
		if !failed {
			t.Errorf("nothing shows that this rule can fail: %s", r.name)
		}
	}
}
