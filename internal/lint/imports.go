package lint

import (
	"cmp"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// layer is a package of the house, from the ground up.
type layer struct {
	dir  string // "internal/ingest/*" is each package below
	pure bool   // it does no I/O: it works on what it is given
	may  string // the packages of the house that it may import; "." is the root
}

// plan is the house. A new package gets a line; whether it may import another is decided here.
func plan() []layer {
	rest := []layer{
		{dir: "", pure: true},
		{dir: "internal/lint", pure: true},
		{dir: "internal/lint/licences", pure: true},
		{dir: "internal/lint/ruleguard", pure: true},
		{dir: "internal/tools/release", may: ". internal/lint/licences"},
		{dir: "internal/spell", pure: true},
		{dir: "internal/sleep", pure: true},
		{dir: "internal/seq", pure: true},
		{dir: "internal/golden"},
		{dir: "internal/current", pure: true, may: "."},
		{dir: "internal/feed", pure: true, may: "."},
		{dir: "internal/live", pure: true, may: "."},
		{dir: "internal/session", pure: true},
		{dir: "internal/ui"},
		{dir: "internal/cuckoo", pure: true},
		{dir: "internal/rwlock", pure: true},
		{dir: "internal/simulate", pure: true, may: "."},
		{dir: "internal/plan", pure: true, may: "."},
		{dir: "internal/ingest", pure: true, may: "."},
		{dir: "internal/ingest/*", pure: true, may: ". internal/spell internal/ingest " +
			"internal/ingest/jsonscan"},
		{dir: "internal/intake", pure: true, may: ". internal/ingest internal/spell"},
		{dir: "internal/backup", may: "."},
		{dir: "internal/store/wrap", pure: true, may: ". internal/seq internal/sleep"},
		{dir: "internal/bench", may: ". internal/sleep internal/store/wrap"},
		{dir: "bench", may: ". internal/bench internal/ingest/jsonfeed internal/sleep"},

		{dir: "storecheck", pure: true, may: ". internal/ingest internal/intake " +
			"internal/store/wrap"},
		{dir: "storetest", may: ". storecheck internal/ingest internal/intake " +
			"internal/store/wrap internal/store/memstore"},

		{dir: "internal/enginetest"},
		{dir: "internal/tools/cassandra", may: "internal/enginetest"},

		{dir: "internal/app", may: ". client internal/backup internal/config internal/httpapi " +
			"internal/httpconn " +
			"internal/intake " +
			"internal/sleep internal/store/adapter internal/store/all internal/store/wrap"},
		{dir: "cmd/andon", may: "internal/cli"},

		{dir: "test"},
	}
	return slices.Concat(
		planOfStores(), planOfPebble(), planOfCommands(), planOfTransports(), rest)
}

// planOfCommands is the part of the plan that is the command line.
func planOfCommands() []layer {
	return []layer{
		{dir: "internal/cli/clitest", may: ". client internal/httpapi internal/intake " +
			"internal/store/memstore internal/store/wrap"},
		{dir: "internal/cli/draw", may: "."},
		{dir: "internal/cli/command", may: ". client internal/cli/draw " +
			"internal/spell"},
		{dir: "internal/cli/local", may: ". internal/app internal/cli/command internal/config " +
			"internal/store/all"},
		{dir: "internal/cli/*", may: ". client internal/app internal/backup internal/bench " +
			"internal/cli/command internal/cli/draw internal/cli/local internal/config " +
			"internal/httpapi internal/ingest internal/ingest/table internal/ingest/workbench " +
			"internal/plan internal/simulate " +
			"internal/sleep internal/spell internal/store/adapter internal/store/all " +
			"internal/store/wrap storecheck"},
		{dir: "internal/cli", may: ". client internal/cli/change internal/cli/command " +
			"internal/cli/doctor internal/cli/draw internal/cli/live internal/cli/measure " +
			"internal/cli/operate internal/cli/planner internal/cli/preserve internal/cli/query " +
			"internal/cli/transfer internal/httpapi internal/store/all"},
	}
}

// planOfTransports is the part of the plan that answers requests.
func planOfTransports() []layer {
	return []layer{
		{dir: "client", may: ". internal/sleep"},
		{dir: "internal/config", may: ". internal/spell"},
		{dir: "internal/httpconn", may: "internal/rwlock internal/sleep"},
		{dir: "internal/jsonout", pure: true, may: ". client internal/ingest/jsonscan"},
		{dir: "internal/access", may: ". internal/session internal/sleep"},
		{dir: "internal/httpapi/fleet", may: "."},
		{dir: "internal/httpapi/openapi", may: "."},
		{dir: "internal/httpapi/params", may: ". internal/httpapi/openapi internal/ingest " +
			"internal/spell"},
		{dir: "internal/httpapi/strictjson", pure: true, may: ". internal/ingest " +
			"internal/ingest/jsonscan internal/spell"},
		// The types of answers are the client's.
		{dir: "internal/httpapi", may: ". client internal/access internal/httpapi/fleet " +
			"internal/httpapi/openapi " +
			"internal/httpapi/params internal/httpapi/strictjson internal/intake internal/live " +
			"internal/spell internal/session internal/ui internal/ingest " +
			"internal/ingest/jsonfeed internal/ingest/jsonscan internal/jsonout"},
	}
}

// planOfPebble is the part of the plan that is the embedded store.
func planOfPebble() []layer {
	return []layer{
		{dir: "internal/store/pebblestore/layout/varint", pure: true},
		{dir: "internal/store/pebblestore/layout/eventlog", pure: true,
			may: ". internal/store/pebblestore/layout/varint"},
		{dir: "internal/store/pebblestore/layout/readingblock", pure: true,
			may: ". internal/store/pebblestore/layout/varint"},
		{dir: "internal/store/pebblestore/layout", pure: true, may: ". internal/current " +
			"internal/store/pebblestore/layout/eventlog " +
			"internal/store/pebblestore/layout/varint"},
		{dir: "internal/store/pebblestore/feed", may: ". internal/feed internal/seq " +
			"internal/store/pebblestore/engine internal/store/pebblestore/layout " +
			"internal/store/pebblestore/layout/eventlog internal/store/tenants"},
		{dir: "internal/store/pebblestore/records", may: ". internal/seq " +
			"internal/store/pebblestore/engine internal/store/pebblestore/layout"},
		{dir: "internal/store/pebblestore/directory", may: ". " +
			"internal/store/pebblestore/engine internal/store/pebblestore/walcheck"},
		{dir: "internal/store/pebblestore/index", may: ". internal/seq " +
			"internal/store/pebblestore/engine internal/store/pebblestore/layout " +
			"internal/store/pebblestore/layout/eventlog"},
		{dir: "internal/store/pebblestore/verify", may: ". internal/current " +
			"internal/store/pebblestore/engine internal/store/pebblestore/feed " +
			"internal/store/pebblestore/layout internal/store/pebblestore/layout/eventlog " +
			"internal/store/pebblestore/layout/readingblock internal/store/pebblestore/walcheck"},
		{dir: "internal/store/pebblestore/walcheck", may: "."},
		{dir: "internal/store/pebblestore/engine", may: ". internal/rwlock internal/sleep " +
			"internal/store/pebblestore/layout"},
		{dir: "internal/store/pebblestore/blocks", may: ". internal/store/pebblestore/engine " +
			"internal/store/pebblestore/layout internal/store/pebblestore/layout/eventlog"},
		{dir: "internal/store/pebblestore", may: ". internal/config internal/cuckoo " +
			"internal/plan internal/current " +
			"internal/rwlock internal/seq internal/sleep internal/store/adapter " +
			"internal/store/pebblestore/blocks internal/store/pebblestore/engine " +
			"internal/store/pebblestore/layout internal/store/pebblestore/layout/eventlog " +
			"internal/store/pebblestore/layout/readingblock " +
			"internal/store/pebblestore/layout/varint " +
			"internal/store/pebblestore/directory " +
			"internal/store/pebblestore/feed internal/store/pebblestore/index " +
			"internal/store/pebblestore/records internal/store/pebblestore/verify " +
			"internal/store/pebblestore/walcheck internal/store/tenants"},
	}
}

// planOfStores is the part of the plan that a new store adds to.
func planOfStores() []layer {
	return []layer{
		{dir: "internal/store/shared", pure: true, may: ". internal/seq " +
			"internal/sleep internal/store/tenants"},
		{dir: "internal/store/adapter", may: ". internal/config internal/plan"},
		{dir: "internal/store/tenants", pure: true, may: "."},
		{dir: "internal/store/memstore", pure: true, may: ". internal/config internal/feed " +
			"internal/seq internal/store/adapter internal/store/tenants"},
		{dir: "internal/store/cassandrastore", may: ". internal/config internal/cuckoo " +
			"internal/plan " +
			"internal/current internal/rwlock internal/seq internal/sleep internal/store/adapter " +
			"internal/store/cassandrastore/cql internal/store/cassandrastore/designs " +
			"internal/store/cassandrastore/merge " +
			"internal/store/cassandrastore/provision internal/store/cassandrastore/records " +
			"internal/store/cassandrastore/rows " +
			"internal/store/shared internal/store/tenants internal/store/wrap"},
		{dir: "internal/store/cassandrastore/cql", may: ". internal/sleep internal/store/shared"},
		{dir: "internal/store/cassandrastore/designs", may: ". " +
			"internal/store/cassandrastore/cql internal/store/shared"},
		{dir: "internal/store/cassandrastore/merge", pure: true,
			may: ". internal/current internal/store/shared"},
		{dir: "internal/store/cassandrastore/rows", may: ". internal/cuckoo internal/seq " +
			"internal/store/cassandrastore/cql internal/store/cassandrastore/merge " +
			"internal/store/shared"},
		{dir: "internal/store/cassandrastore/records", may: ". internal/seq " +
			"internal/store/cassandrastore/cql internal/store/cassandrastore/rows " +
			"internal/store/shared"},
		{dir: "internal/store/cassandrastore/provision", may: ". internal/store/adapter " +
			"internal/store/cassandrastore/cql internal/store/cassandrastore/designs"},
		{dir: "internal/store/dynamostore/ddb", may: ". internal/store/shared"},
		{dir: "internal/store/dynamostore/provision", may: ". internal/config " +
			"internal/store/dynamostore/ddb internal/store/shared"},
		{dir: "internal/store/dynamostore", may: ". internal/config internal/cuckoo " +
			"internal/plan " +
			"internal/current internal/seq internal/sleep internal/store/adapter " +
			"internal/store/dynamostore/ddb internal/store/dynamostore/provision " +
			"internal/store/shared internal/store/tenants internal/store/wrap"},
		{dir: "internal/store/all", may: ". internal/config internal/store/adapter " +
			"internal/store/cassandrastore internal/store/dynamostore internal/store/memstore " +
			"internal/store/pebblestore internal/store/wrap"},
	}
}

func layerOf(dir string) (layer, bool) {
	for _, r := range plan() {
		if covers(r.dir, dir) {
			return r, true
		}
	}
	return layer{}, false
}

// covers reports whether a pattern is of a directory: "a/*" is of each below a.
func covers(pattern, dir string) bool {
	return pattern == dir || path.Base(pattern) == "*" && path.Dir(pattern) == path.Dir(dir)
}

// owner says which packages may import a library.
type owner struct {
	library string   // and what lies below it
	dirs    []string // none: tests only
}

func owners() []owner {
	return []owner{
		{"github.com/cockroachdb/pebble/v2", []string{"internal/store/pebblestore",
			"internal/store/pebblestore/*", "bench"}},
		{"github.com/apache/cassandra-gocql-driver/v2", []string{
			"internal/store/cassandrastore/cql", "internal/enginetest",
		}},
		{"github.com/aws/aws-sdk-go-v2", []string{"internal/store/dynamostore/ddb",
			"internal/store/dynamostore/provision"}},
		{"github.com/aws/smithy-go", []string{"internal/store/dynamostore/ddb",
			"internal/store/dynamostore/provision"}},
		{"github.com/quasilyte/go-ruleguard/dsl", []string{"internal/lint/ruleguard"}},
		{"github.com/danielgtaylor/huma/v2", []string{"internal/httpapi/openapi"}},
		{"github.com/swaggest/swgui", []string{"internal/httpapi"}},
		{"github.com/prometheus/client_golang", []string{
			"internal/httpapi", "internal/access", "internal/app",
		}},
		{"github.com/klauspost/compress", []string{
			"internal/backup", "internal/httpapi", "internal/ingest/table",
			"internal/store/pebblestore", "internal/store/pebblestore/layout",
		}},
		{"go.yaml.in/yaml/v3", []string{"internal/config", "internal/plan"}},
		{"github.com/spf13/cobra", []string{"internal/cli", "internal/cli/*"}},
		{"github.com/spf13/pflag", []string{"internal/cli", "internal/cli/*"}},
		{"github.com/vbauerster/mpb/v8", []string{"internal/cli/draw"}},
		{"github.com/vbauerster/cupwriter", []string{"internal/cli/draw"}},
		{"github.com/mattn/go-runewidth", []string{"internal/cli/draw"}},
		{"github.com/hashicorp/hcl/v2", nil},
		{"github.com/google/go-cmp", []string{"storetest", "internal/golden"}},
		{"github.com/rogpeppe/go-internal/testscript", nil},
		{"go.uber.org/goleak", nil},
		{"pgregory.net/rapid", nil},
	}
}

func importRules() []Rule {
	return []Rule{
		{
			Name: "packages import lower ones only, as the plan of the house has it",
			Mend: "move the code to where it belongs, or pass in what it needs; a new package, " +
				"or a new way down, is a line in plan() of internal/lint/imports.go",
			Find: wrongLayers,
		},
		{
			Name: "pure packages do no I/O",
			Mend: "take an io.Reader, an interface or the value itself, and open things in an " +
				"adapter",
			Find: impure,
		},
		{
			Name: "each library has its owner",
			Mend: "ask the package that owns it (owners() of internal/lint/imports.go); a new " +
				"library is a line there and a decision record",
			Find: wrongOwners,
		},
	}
}

func (f *File) imports(visit func(spec *ast.ImportSpec, name string)) {
	for _, spec := range f.AST.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			visit(spec, name)
		}
	}
}

// inHouse returns the directory of a package of the house, "." for the root.
func inHouse(name string) (dir string, ok bool) {
	if name == Module {
		return ".", true
	}
	return strings.CutPrefix(name, Module+"/")
}

// wrongLayers leaves tests out: an end-to-end test may import whatever it starts.
func wrongLayers(t *Tree) (found []Problem) {
	for _, f := range t.program() {
		of, known := layerOf(f.Dir)
		if !known {
			found = append(found, t.problem(f.AST.Package, "package %s is not in the plan", f.Dir))
			continue
		}
		f.imports(func(spec *ast.ImportSpec, name string) {
			dir, ok := inHouse(name)
			if ok && !slices.Contains(strings.Fields(of.may), dir) {
				text := fmt.Sprintf("%s may not import %s", cmp.Or(f.Dir, "the root package"), dir)
				found = append(found, t.problem(spec.Pos(), "%s", text))
			}
		})
	}
	return found
}

// isIO reports whether a package of the standard library reaches out of the process.
func isIO(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"net", "os", "syscall", "log", "database", "plugin"}, top)
}

func impure(t *Tree) (found []Problem) {
	for _, f := range t.program() {
		if of, _ := layerOf(f.Dir); !of.pure {
			continue
		}
		f.imports(func(spec *ast.ImportSpec, name string) {
			if isIO(name) {
				text := fmt.Sprintf("%s is pure and imports %s", f.Dir, name)
				found = append(found, t.problem(spec.Pos(), "%s", text))
			}
		})
	}
	return found
}

func isLibrary(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	_, house := inHouse(name)
	return strings.Contains(first, ".") && !house
}

func wrongOwners(t *Tree) (found []Problem) {
	for _, f := range t.Go {
		f.imports(func(spec *ast.ImportSpec, name string) {
			if why := wrongOwner(f, name); why != "" {
				found = append(found, t.problem(spec.Pos(), "%s %s", name, why))
			}
		})
	}
	return found
}

func wrongOwner(f *File, name string) string {
	if !isLibrary(name) {
		return ""
	}
	for _, o := range owners() {
		if name != o.library && !strings.HasPrefix(name, o.library+"/") {
			continue
		}
		forTests := o.dirs == nil || slices.Contains(o.dirs, "storetest")
		owns := func(pattern string) bool {
			return covers(pattern, f.Dir) || f.Test && strings.HasPrefix(pattern, f.Dir+"/")
		}
		if slices.ContainsFunc(o.dirs, owns) || f.Test && forTests {
			return ""
		}
		return "belongs to " + cmp.Or(strings.Join(o.dirs, " and "), "tests")
	}
	return "has no owner"
}
