package lint

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

func engineRules() []Rule {
	return []Rule{{
		Name: "an engine is named by its adapter alone",
		Mend: "ask the engine that is chosen for what it can do (internal/store/adapter); what " +
			"only some can is an interface there",
		Find: namedEngines,
		Except: []Exception{
			{"internal/httpapi/operations.go", "pebble 2.1.7", "an example of an answer"},
			{"internal/ingest/workbench/write.go", "Amazon DynamoDB", "a word of the format"},
		},
	}}
}

// namedEngines finds texts of the program that name the engine of an adapter, but for the help and
// the examples of commands. The list of adapters, and what brings engines up, may name all.
func namedEngines(t *Tree) (found []Problem) {
	var engines []string
	for _, r := range append(planOfStores(), planOfPebble()...) {
		name, ok := strings.CutSuffix(path.Base(r.dir), "store")
		if ok && name != "mem" { // its name is a word of every day
			engines = append(engines, name)
		}
	}
	named := regexp.MustCompile(`(?i)\b(` + strings.Join(engines, "|") + `)`)
	for _, f := range t.program() {
		if strings.HasPrefix(f.Dir, "internal/store/") || mayNameEngines(f.Dir) {
			continue
		}
		var help ast.Node // what is visited at present
		f.inspect(func(n ast.Node) {
			if kv, ok := n.(*ast.KeyValueExpr); ok && isHelp(kv.Key) {
				help = kv
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING || help != nil && lit.End() <= help.End() {
				return
			}
			if named.MatchString(lit.Value) {
				found = append(found, t.problem(lit.Pos(), "%s", lit.Value))
			}
		})
	}
	return found
}

func isHelp(key ast.Expr) bool {
	name, ok := key.(*ast.Ident)
	return ok && slices.Contains([]string{"Long", "Example"}, name.Name)
}

func mayNameEngines(dir string) bool {
	return slices.ContainsFunc([]string{"internal/enginetest", "internal/tools", "internal/lint",
		"bench"},
		func(root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") })
}
