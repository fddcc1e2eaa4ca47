package lint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

func textRules() []Rule {
	return []Rule{
		{
			Name: "files name no registry and no path of a machine",
			Mend: "leave the registry to the user's own settings, and write paths relative to " +
				"the repository",
			Find: places,
		},
		{
			Name: "links inside the repository lead somewhere",
			Mend: "name a file that is there, relative to the page, and a heading that it has",
			Find: deadLinks,
		},
		{
			Name: "pages that the code names are there",
			Mend: "name a page of this repository by its path, or say the thing itself",
			Find: missingPages,
		},
		{
			Name: "every page can be found",
			Mend: "link it from README.md or from a page that is linked from there",
			Find: lostPages,
		},
	}
}

// place finds what ties a file to a machine: addresses of registries, directories of a person. The
// letters in brackets keep this file from finding itself.
var place = regexp.MustCompile(`prox[y]\.golang\.org|su[m]\.golang\.org` +
	`|registr[y]\.(npmjs|yarnpkg)\.|goprox[y]\.(io|cn)|pyp[i]\.org|mirro[r]s\.` +
	`|(^|[^\w.~$}-])/(roo[t]|hom[e]|User[s]|wor[k])/\w`)

func places(t *Tree) (found []Problem) {
	for _, text := range t.Texts {
		for i, line := range text.Lines {
			if m := place.FindString(line); m != "" {
				what := fmt.Sprintf("%q", strings.TrimSpace(m))
				found = append(found, Problem{text.Path, i + 1, what})
			}
		}
	}
	return found
}

var link = regexp.MustCompile(`\]\(([^()\s]+)\)|(?:src|href)="([^"]+)"`)

// links calls visit for each link of a page to another file of the repository, or to a heading.
func (p Text) links(visit func(line int, target, heading string)) {
	for i, line := range prose(p.Lines) {
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			to := m[1] + m[2]
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			target, heading, _ := strings.Cut(to, "#")
			if target == "" {
				target = p.Path
			} else {
				target = path.Join(path.Dir(p.Path), target)
			}
			visit(i+1, target, heading)
		}
	}
}

func (t *Tree) pages() map[string]Text {
	pages := map[string]Text{}
	for _, text := range t.Texts {
		if path.Ext(text.Path) == ".md" && !strings.Contains("/"+text.Path, "/testdata/") {
			pages[text.Path] = text
		}
	}
	return pages
}

func deadLinks(t *Tree) (found []Problem) {
	pages := t.pages()
	for _, page := range pages {
		page.links(func(line int, target, heading string) {
			there := t.has(target)
			if to, ok := pages[target]; ok && heading != "" {
				there = to.hasHeading(heading)
			}
			if !there {
				text := strings.TrimSuffix(target+"#"+heading, "#")
				found = append(found, Problem{page.Path, line, fmt.Sprintf("there is no %s", text)})
			}
		})
	}
	return found
}

func (t *Tree) has(name string) bool {
	return slices.ContainsFunc(t.names, func(file string) bool {
		return file == name || strings.HasPrefix(file, name+"/")
	})
}

// hasHeading knows headings by the anchors that GitHub gives them.
func (p Text) hasHeading(anchor string) bool {
	return slices.ContainsFunc(prose(p.Lines), func(line string) bool {
		text, ok := strings.CutPrefix(line, "#")
		return ok && anchorOf(text) == anchor
	})
}

func anchorOf(heading string) string {
	keep := func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c):
			return unicode.ToLower(c)
		}
		return -1
	}
	return strings.Map(keep, strings.TrimSpace(strings.TrimLeft(heading, "#")))
}

var pageName = regexp.MustCompile(`[\w./-]*\w\.md\b`)

// missingPages leaves out files of this package's tests, which name pages that are not there.
func missingPages(t *Tree) (found []Problem) {
	for _, f := range t.Go {
		if f.Test && f.Dir == "internal/lint" {
			continue
		}
		for _, group := range f.AST.Comments {
			for _, c := range group.List {
				for _, name := range pageName.FindAllString(c.Text, -1) {
					if !t.has(name) {
						found = append(found, t.problem(c.Pos(), "there is no %s", name))
					}
				}
			}
		}
	}
	return found
}

// lostPages finds the pages that no row of links leads to from README.md.
func lostPages(t *Tree) (found []Problem) {
	pages := t.pages()
	reached := map[string]bool{}
	var follow func(name string)
	follow = func(name string) {
		page, ok := pages[name]
		if !ok || reached[name] {
			return
		}
		reached[name] = true
		page.links(func(_ int, target, _ string) { follow(target) })
	}
	follow("README.md")
	for name := range pages {
		if !reached[name] {
			found = append(found, Problem{name, 0, "nothing leads here from README.md"})
		}
	}
	return found
}
