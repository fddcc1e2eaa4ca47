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
			Name: "each package says what it is for",
			Mend: "write one comment above one package clause: what it is for, and what it " +
				"must not know",
			Find: packageComments,
		},
		{
			Name: "what is exported is explained",
			Mend: "write a comment that begins with the name: units, order, errors, promises; " +
				"not what the name says already",
			Find: docComments,
		},
		{
			Name: "errors say what was done, not that it failed",
			Mend: `write "read entry: %w"; that it failed is what an error means`,
			Find: failedErrors,
		},
		{
			Name: "names say what a thing is",
			Mend: "no Get prefix, no Manager, Helper or Util; a receiver has one or two letters",
			Find: emptyNames,
		},
		{
			Name: "interfaces are small",
			Mend: "split it by who uses it: an interface has at most 8 methods of its own",
			Find: largeInterfaces,
		},
	}
}

func packageComments(t *Tree) (found []Problem) {
	for _, files := range t.packages() {
		byName := map[string][]*File{}
		for _, f := range files {
			byName[f.AST.Name.Name] = append(byName[f.AST.Name.Name], f)
		}
		for name, files := range byName {
			if !strings.HasSuffix(name, "_test") {
				found = append(found, t.packageComment(name, files)...)
			}
		}
	}
	return found
}

func (t *Tree) packageComment(name string, files []*File) (found []Problem) {
	begins := "Package " + name + " "
	if name == "main" {
		begins = "Command "
	}
	comments := 0
	for _, f := range files {
		if f.AST.Doc == nil {
			continue
		}
		comments++
		if comments > 1 {
			found = append(found, t.problem(f.AST.Package, "a second comment of package %s", name))
		} else if !strings.HasPrefix(f.AST.Doc.Text(), begins) {
			found = append(found,
				t.problem(f.AST.Package, "its comment does not begin with %q", begins))
		}
	}
	if comments == 0 {
		found = append(found, t.problem(files[0].AST.Package, "package %s has no comment", name))
	}
	return found
}

func docComments(t *Tree) (found []Problem) {
	for _, f := range t.program() {
		if f.AST.Name.Name == "main" {
			continue
		}
		for _, d := range f.AST.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && isExported(receiver(d)) {
					found = append(found, t.docComment(d.Name, d.Doc)...)
				}
			case *ast.GenDecl:
				found = append(found, t.groupComments(d)...)
			}
		}
	}
	return found
}

// receiver returns the name of the type that a method is of; "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	e := d.Recv.List[0].Type
	for {
		switch of := e.(type) {
		case *ast.StarExpr:
			e = of.X
		case *ast.IndexExpr:
			e = of.X
		case *ast.IndexListExpr:
			e = of.X
		case *ast.Ident:
			return of.Name
		default:
			return ""
		}
	}
}

func isExported(name string) bool { return name == "" || ast.IsExported(name) }

func (t *Tree) docComment(name *ast.Ident, doc *ast.CommentGroup) []Problem {
	switch text := doc.Text(); {
	case text == "":
		return []Problem{t.problem(name.Pos(), "%s has no comment", name.Name)}
	case !strings.HasPrefix(text, name.Name+" "):
		return []Problem{
			t.problem(name.Pos(), "the comment of %s does not begin with its name", name.Name),
		}
	}
	return nil
}

// groupComments asks for a comment at each type, and at each constant or variable or
// else at its group.
func (t *Tree) groupComments(d *ast.GenDecl) (found []Problem) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil {
				doc = d.Doc
			}
			if s.Name.IsExported() {
				found = append(found, t.docComment(s.Name, doc)...)
			}
		case *ast.ValueSpec:
			if s.Names[0].IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				found = append(found, t.problem(s.Pos(), "%s has no comment", s.Names[0].Name))
			}
		}
	}
	return found
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
	if d.Recv == nil {
		return found
	}
	for _, name := range d.Recv.List[0].Names {
		if len(name.Name) > 2 {
			found = append(found,
				t.problem(name.Pos(), "receiver %s is longer than two letters", name.Name))
		}
	}
	return found
}

func largeInterfaces(t *Tree) (found []Problem) {
	const most = 8
	for _, f := range t.Go {
		f.inspect(func(n ast.Node) {
			i, ok := n.(*ast.InterfaceType)
			if !ok {
				return
			}
			methods := 0
			for _, m := range i.Methods.List {
				methods += len(m.Names)
			}
			if methods > most {
				found = append(found, t.problem(i.Pos(), "%d methods", methods))
			}
		})
	}
	return found
}
