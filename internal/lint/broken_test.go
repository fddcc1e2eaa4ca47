package lint_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/andonhq/andon/internal/lint"
)

// broken is, for each rule by the beginning of its name, what breaks it in one place each. A file
// that is not named is good.
var broken = map[string][]sample{
	"packages import lower ones only": {
		{"event.go", "package andon\nimport _ \"github.com/andonhq/andon/internal/current\"",
			"root package"},
		{"internal/current/x.go", "package current\nimport _ \"github.com/andonhq/andon/client\"",
			"client"},
		{"internal/store/memstore/x.go",
			"package memstore\nimport _ \"github.com/andonhq/andon/internal/store/pebblestore\"",
			"pebblestore"},
		{"internal/ingest/csv/x.go",
			"package csv\nimport _ \"github.com/andonhq/andon/internal/ingest/table\"",
			"internal/ingest/table"},
		{"internal/newcomer/x.go", "package newcomer", "not in the plan"},
	},
	"pure packages do no I/O": {
		{"event.go", "package andon\nimport _ \"net/http\"", "net/http"},
		{"internal/ingest/csv/x.go", "package csv\nimport _ \"os\"", "os"},
		{"internal/store/memstore/x.go", "package memstore\nimport _ \"log/slog\"", "log/slog"},
	},
	"each library has its owner": {
		{"internal/app/x.go", "package app\nimport _ \"github.com/cockroachdb/pebble/v2/vfs\"",
			"pebblestore"},
		{"internal/app/x_test.go", "package app\nimport _ \"github.com/spf13/cobra\"",
			"internal/cli"},
		{"client/x.go", "package client\nimport _ \"github.com/google/go-cmp/cmp\"", "belongs to"},
		{"client/x.go", "package client\nimport _ \"go.uber.org/goleak\"", "belongs to tests"},
		{"client/x.go", "package client\nimport _ \"example.com/left-pad\"", "no owner"},
	},
	"an engine is named by its adapter alone": {
		{"internal/app/x.go", "package app\nvar isLocal = \"pebble\"", "pebble"},
		{"internal/cli/measure/x.go", "package measure\nvar flag = \"--cassandra-hosts\"", "hosts"},
		{"internal/bench/x.go", "package bench\nvar s = S{Short: \"of Cassandra\"}", "Cassandra"},
	},
	"names say what a thing is": {
		{"event.go", "package andon\nfunc GetEvent() {}", "Get prefix"},
		{"event.go", "package andon\ntype EventManager int", "EventManager"},
		{"internal/util/x.go", "package util", "package util"},
	},
	"files have at most": {
		{"event.go", "package andon" + strings.Repeat("\n", 600) + "//", "601 lines"},
		{"event_test.go", "package andon" + strings.Repeat("\n", 800) + "//", "801 lines"},
	},
	"prose wraps": {
		{"README.md", strings.Repeat("wide ", 21), "105 columns"},
	},
	"files name no registry": {
		{"Makefile", "export GOPROXY=https://prox" + "y.golan" + "g.org", "golang.org"},
		{"ui/package-lock.json", `"resolved": "https://registr` + `y.npm` + `js.org/x"`, "npmjs"},
		{"README.md", "See /hom" + "e/me/andon.", "/hom"},
		{"event.go", "package andon\n\nconst c = \"/roo" + "t/x\"", "/roo"},
	},
	"links inside the repository": {
		{"README.md", "# A\n[there](docs/none.md)", "docs/none.md"},
		{"README.md", "# A\n[there](#b)", "README.md#b"},
		{"docs/a.md", "# A\n[up](../README.md#none)", "README.md#none"},
		{"README.md", `<img src="docs/none.svg">`, "docs/none.svg"},
	},
	"pages that the code names": {
		{"event.go", "package andon\n\n// See NONE.md.", "NONE.md"},
		{"event.go", "package andon\n\n// See docs/b.md and docs/a.md.", "docs/b.md"},
	},
	"packages weigh what": {
		{"client/x.go", "package client" + strings.Repeat("\n", 120),
			"client has 125 lines, and may"},
		{"ARCHITECTURE.md", "# A\n| `.` | 7 |\n| `client` | 1000 |\n| `cmd/andon` | 4 |",
			"client has 4 lines, and may"},
		{"ARCHITECTURE.md", "# A\n| `.` | 7 |\n| `client` | 4 |\n| `cmd/andon` | 5000 |",
			"is more than 4500"},
		{"internal/spell/x.go", "package spell", "no row in the table"},
	},
	"every page can be found": {
		{"docs/lost.md", "# Lost", "nothing leads here"},
	},
}

// sample is a file that breaks a rule.
type sample struct {
	path, content string
	want          string // part of the problem
}

// good is a repository that breaks no rule.
func good() fstest.MapFS {
	files := fstest.MapFS{}
	for path, content := range map[string]string{
		"README.md": "# Andon, a board\n" +
			"[here](#andon-a-board), [pages](docs/a.md), <https://example.com>\n" +
			"[house](ARCHITECTURE.md)\n",
		"ARCHITECTURE.md": "# House\n| `.` | 7 |\n| `client` | 4 |\n| `cmd/andon` | 4 |\n",
		"docs/a.md":       "# A\n[back](../README.md)\n```\n[not a link](none.md) in code\n```\n",
		"andon.go": "// Package andon is it.\npackage andon\n\n//go:embed a\nvar a string\n\n" +
			"var table = map[int]int{1: 1}\n",
		"client/client.go": "// Package client asks.\npackage client\n\n" +
			"import _ \"github.com/andonhq/andon\"\n",
		"client/x_test.go":  "package client_test\n\nimport _ \"github.com/google/go-cmp/cmp\"\n",
		"cmd/andon/main.go": "// Command andon runs.\npackage main\n\nfunc main() {}\n",
		"sync_test.go": "package andon\n\nimport (\n\t_ \"testing/synctest\"\n\t\"time\"\n)\n\n" +
			"func f() { time.Sleep(1); table := table; table[1] = 2 }\n",
	} {
		files[path] = &fstest.MapFile{Data: []byte(content)}
	}
	return files
}

func TestGoodIsGood(t *testing.T) {
	parsed, err := lint.Parse(good())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range lint.Rules() {
		if problems, _ := lint.Check(parsed, r); len(problems) > 0 {
			t.Errorf("%s:\n%s", r.Name, lines(problems))
		}
	}
}

// TestRulesCanFail breaks each rule.
func TestRulesCanFail(t *testing.T) {
	for _, r := range lint.Rules() {
		ran := 0
		for name, samples := range broken {
			if !strings.HasPrefix(r.Name, name) {
				continue
			}
			for _, s := range samples {
				ran++
				t.Run(r.Name+"/"+s.want, func(t *testing.T) { s.breaks(t, r) })
			}
		}
		if ran == 0 {
			t.Errorf("nothing shows that this rule can fail: %s", r.Name)
		}
	}
}

func (s sample) breaks(t *testing.T, r lint.Rule) {
	files := good()
	files[s.path] = &fstest.MapFile{Data: []byte(s.content + "\n")}
	parsed, err := lint.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	problems, _ := lint.Check(parsed, r)
	if len(problems) != 1 || !strings.Contains(problems[0].String(), s.want) {
		t.Errorf("got %q, want one problem with %q", lines(problems), s.want)
	}
}

// TestExceptions: an exception covers its place, and is stale where that keeps the rule.
func TestExceptions(t *testing.T) {
	files := good()
	files["a/x.go"] = &fstest.MapFile{Data: []byte("package a\nfunc GetX() {}\n")}
	parsed, err := lint.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range lint.Rules() {
		if r.Name != "names say what a thing is" {
			continue
		}
		r.Except = []lint.Exception{
			{"a/", "Get", "covers"}, {"a", "", "is no file"}, {"b/", "", "stale"},
		}
		problems, stale := lint.Check(parsed, r)
		if len(problems) != 0 || len(stale) != 2 || stale[0].Path != "a" || stale[1].Path != "b/" {
			t.Errorf("got %v and %v", problems, stale)
		}
	}
}
