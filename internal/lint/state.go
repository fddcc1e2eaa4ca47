package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

func stateRules() []Rule {
	return []Rule{
		{
			Name: "no init functions",
			Mend: "do it in a constructor, or in one function that lists what there is " +
				"(internal/store/all)",
			Find: inits,
		},
		{
			Name: "packages hold no state",
			Mend: "make it a field, and pass logger, clock and registry in; a table that is " +
				"only read has a value and is never assigned to",
			Find: packageState,
			Except: []Exception{
				{"cmd/andon/main.go", "version", "the linker stamps it"},
			},
		},
	}
}

func inits(t *Tree) (found []Problem) {
	for _, f := range t.Go {
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, t.problem(fn.Pos(), "an init function"))
			}
		}
	}
	return found
}

// packageState finds variables of packages that have no value, have one that is made to be changed,
// or are changed somewhere.
func packageState(t *Tree) (found []Problem) {
	byDir := map[string][]*File{}
	for _, f := range t.program() {
		byDir[f.Dir] = append(byDir[f.Dir], f)
	}
	for _, files := range byDir {
		vars := map[string]bool{}
		for _, f := range files {
			for _, spec := range packageVars(f) {
				for i, name := range spec.Names {
					if name.Name == "_" {
						continue
					}
					vars[name.Name] = true
					if i >= len(spec.Values) || isChangeable(spec.Type) ||
						isChangeable(spec.Values[i]) {
						text := name.Name + " is there to be changed"
						found = append(found, t.problem(name.Pos(), "%s", text))
					}
				}
			}
		}
		for _, f := range files {
			found = append(found, t.changes(f, vars)...)
		}
	}
	return found
}

// packageVars leaves out what the compiler fills with files.
func packageVars(f *File) (specs []*ast.ValueSpec) {
	for _, d := range f.AST.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR && !isEmbedded(g.Doc) {
			for _, s := range g.Specs {
				specs = append(specs, s.(*ast.ValueSpec))
			}
		}
	}
	return specs
}

func isEmbedded(doc *ast.CommentGroup) bool {
	return doc != nil && strings.HasPrefix(doc.List[len(doc.List)-1].Text, "//go:embed ")
}

// isChangeable reports whether a type or a value is of a kind that makes sense only if it changes.
func isChangeable(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ChanType:
		return true
	case *ast.UnaryExpr:
		return isChangeable(e.X)
	case *ast.CompositeLit:
		return isChangeable(e.Type)
	case *ast.IndexExpr:
		return isChangeable(e.X)
	case *ast.CallExpr:
		name, ok := e.Fun.(*ast.Ident)
		return ok && (name.Name == "make" || name.Name == "new")
	case *ast.SelectorExpr:
		of, _, _ := strings.Cut(qualified(e), ".")
		return of == "sync" || of == "atomic"
	}
	return false
}

// changes finds where functions change one of some variables. A name that a function declares
// itself is another one.
func (t *Tree) changes(f *File, vars map[string]bool) (found []Problem) {
	for _, d := range f.AST.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		own := declared(fn)
		check := func(e ast.Expr) {
			if name := root(e); name != nil && vars[name.Name] && !slices.Contains(own, name.Name) {
				found = append(found, t.problem(e.Pos(), "%s is changed", name.Name))
			}
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, e := range n.Lhs {
						check(e)
					}
				}
			case *ast.IncDecStmt:
				check(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					check(n.X)
				}
			}
			return true
		})
	}
	return found
}

// root returns the variable that an expression is a part of.
func root(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.IndexExpr:
		return root(e.X)
	case *ast.SelectorExpr:
		return root(e.X)
	case *ast.StarExpr:
		return root(e.X)
	case *ast.ParenExpr:
		return root(e.X)
	}
	return nil
}

// declared returns the names that a function declares.
func declared(fn *ast.FuncDecl) (names []string) {
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				names = append(names, name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				names = append(names, name.Name)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				names = appendIdents(names, n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				names = appendIdents(names, n.Key, n.Value)
			}
		}
		return true
	})
	return names
}

func appendIdents(names []string, all ...ast.Expr) []string {
	for _, e := range all {
		if name, ok := e.(*ast.Ident); ok {
			names = append(names, name.Name)
		}
	}
	return names
}
