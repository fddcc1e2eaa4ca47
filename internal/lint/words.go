package lint

import (
	"go/ast"
	"slices"
	"strings"
	"unicode"
)

func wordRules() []Rule {
	return []Rule{
		{
			Name: "names say what a thing is",
			Mend: "no Get prefix, no Manager, Helper or Util",
			Find: emptyNames,
		},
	}
}

func emptyNames(t *Tree) (found []Problem) {
	for _, f := range t.Go {
		for _, bad := range []string{"util", "utils", "helper", "helpers", "common", "misc"} {
			if f.AST.Name.Name == bad {
				found = append(found, t.problem(f.AST.Name.Pos(), "package %s", bad))
			}
		}
		f.inspect(func(n ast.Node) {
			switch n := n.(type) {
			case *ast.FuncDecl:
				found = append(found, t.functionName(n)...)
			case *ast.TypeSpec:
				if hollow(n.Name.Name) {
					found = append(found, t.problem(n.Pos(), "type %s", n.Name.Name))
				}
			}
		})
	}
	return found
}

func hollow(name string) bool {
	ends := func(end string) bool { return strings.HasSuffix(name, end) }
	return slices.ContainsFunc([]string{"Manager", "Helper", "Util", "Utils"}, ends)
}

// namedByOthers are methods of interfaces of libraries, which have their names from there.
func namedByOthers() []string { return []string{"GetRetryType"} }

func (t *Tree) functionName(d *ast.FuncDecl) (found []Problem) {
	rest, ok := strings.CutPrefix(d.Name.Name, "Get")
	theirs := d.Recv != nil && slices.Contains(namedByOthers(), d.Name.Name)
	if ok && !theirs && rest != "" && unicode.IsUpper(rune(rest[0])) {
		found = append(found, t.problem(d.Name.Pos(), "%s has a Get prefix", d.Name.Name))
	}
	return found
}
