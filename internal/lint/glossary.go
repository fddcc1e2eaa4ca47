package lint

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"strings"
)

// glossaryPage holds the glossary: one meaning for each word, and the words that it replaces.
const glossaryPage = "ARCHITECTURE.md"

// termRow is a row of the glossary: "| **entry** | what it means | words that it replaces |".
var termRow = regexp.MustCompile(`^\| \*\*([^*]+)\*\* \|.*\| ([^|]*)\|$`)

type term struct {
	line     int
	name     string
	replaces []string
}

func (t *Tree) glossary() (terms []term) {
	for i, line := range t.pages()[glossaryPage].Lines {
		m := termRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		replaces := strings.FieldsFunc(m[2], func(c rune) bool { return c == ',' || c == ' ' })
		terms = append(terms, term{i + 1, m[1], replaces})
	}
	return terms
}

// strangeTerms finds the terms that no identifier has and no comment of a package.
func strangeTerms(t *Tree) (found []Problem) {
	const most = 20
	terms := t.glossary()
	if len(terms) > most {
		found = append(found, Problem{glossaryPage, terms[most].line,
			fmt.Sprintf("the glossary has %d terms", len(terms))})
	}
	var names, comments strings.Builder
	for _, f := range t.program() {
		f.inspect(func(n ast.Node) {
			if id, ok := n.(*ast.Ident); ok {
				names.WriteString(id.Name + "\n")
			}
		})
		comments.WriteString(f.AST.Doc.Text())
	}
	inNames, inComments := strings.ToLower(names.String()), words(comments.String())
	for _, term := range terms {
		name := strings.ReplaceAll(term.name, " ", "")
		if !strings.Contains(inNames, name) && !strings.Contains(inComments, term.name) {
			found = append(found, Problem{glossaryPage, term.line,
				fmt.Sprintf("the code does not know %q", term.name)})
		}
	}
	return found
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// archaic are words that need a dictionary.
func archaic() []string {
	return []string{
		"anew", "befall", "befell", "hitherto", "lest", "nobody", "thereof", "unto", "whence",
		"whereof", "wherein", "whoever", "whomever",
	}
}

// oddWords looks at comments and at prose. Records of decisions and of changes keep the words of
// their time.
func oddWords(t *Tree) (found []Problem) {
	odd := archaic()
	for _, term := range t.glossary() {
		odd = append(odd, term.replaces...)
	}
	for i, word := range odd { // in upper case it is a name, of a state for example
		odd[i] = "[" + strings.ToUpper(word[:1]) + word[:1] + "]" + word[1:]
	}
	finder := regexp.MustCompile(`\b(` + strings.Join(odd, "|") + `)\b`)
	for name, page := range t.pages() {
		if name == "CHANGELOG.md" || path.Dir(name) == "docs/decisions" {
			continue
		}
		for i, line := range prose(page.Lines) {
			if name == glossaryPage && termRow.MatchString(line) {
				continue
			}
			if word := finder.FindString(link.ReplaceAllString(line, "")); word != "" {
				found = append(found, Problem{name, i + 1, fmt.Sprintf("%q", word)})
			}
		}
	}
	for _, f := range t.Go {
		for _, group := range f.AST.Comments {
			for _, c := range group.List {
				if word := finder.FindString(c.Text); word != "" {
					found = append(found, t.problem(c.Pos(), "%q", word))
				}
			}
		}
	}
	return found
}
