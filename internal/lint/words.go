package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

func wordRules() []Rule {
	return []Rule{
		{
			Name: "errors say what was done, not that it failed",
			Mend: `write "read entry: %w"; that it failed is what an error means`,
			Find: failedErrors,
		},
		{
			Name: "names say what a thing is",
			Mend: "no Get prefix, no Manager, Helper or Util",
			Find: emptyNames,
		},
		{
			Name: "the words of the glossary are those of the code",
			Mend: "use the term of the code in " + glossaryPage + ", or delete its row; the " +
				"glossary has at most 20",
			Find: strangeTerms,
		},
		{
			Name: "comments and pages use the words of the glossary, and plain ones",
			Mend: "use the term that the glossary of " + glossaryPage + " gives, or a word that " +
				"every engineer knows",
			Find: oddWords,
		},
	}
}

func failedErrors(t *Tree) (found []Problem) {
	makers := []string{
		"errors.New", "fmt.Errorf", "andon.Errorf", "andon.AtField", "Errorf", "AtField",
	}
	for _, f := range t.program() {
		f.inspect(func(n ast.Node) {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return
			}
			maker := qualified(call.Fun)
			if name, ok := call.Fun.(*ast.Ident); ok {
				maker = name.Name
			}
			if !slices.Contains(makers, maker) {
				return
			}
			for _, e := range call.Args {
				if why := failing(e); why != "" {
					found = append(found, t.problem(e.Pos(), "an error says %q", why))
				}
			}
		})
	}
	return found
}

// failing returns the empty words that an error's text holds.
func failing(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(literal.Value)
	for _, words := range []string{"failed to", "unable to", "error while", "an error occurred"} {
		if strings.Contains(strings.ToLower(text), words) {
			return words
		}
	}
	return ""
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
	for _, end := range []string{"Manager", "Helper", "Util", "Utils"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
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
