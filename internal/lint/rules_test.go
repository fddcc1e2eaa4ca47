package lint_test

import (
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// rule is one rule of the house: what must hold, how to fix what breaks it, and what breaks it.
type rule struct {
	name, fix string
	find      func(tree) []string
}

var rules = []rule{
	{
		"prose wraps at 100 columns",
		"break the line; tables, code and links on a line of their own may be longer", wideProse,
	},
	{
		"files name no registry and no path of a machine",
		"leave the registry to the settings of the user; write paths relative to the repository",
		places,
	},
	{
		"links inside the repository lead somewhere",
		"name a file that exists, relative to the page, and a heading that it has", deadLinks,
	},
	{
		"pages that the code names exist",
		"name a page of this repository by its path, or say it in the comment", missingPages,
	},
	{
		"every page can be found",
		"link it from README.md or from a page that is linked from there", lostPages,
	},
	{
		"names say what a thing is",
		"no prefix Get, no Manager, Helper or Util; no method at, of, in, has or all",
		emptyNames,
	},
	{
		"an engine is named by its adapter alone",
		"ask the engine that is chosen for what it can do (internal/store/adapter); what only " +
			"some can do is an interface there", namedEngines,
	},
	{
		"packages have the size that " + sizePage + " allows",
		"delete what is not needed, or use a library; a package that has to grow gets a larger " +
			"number there, in a commit that says why; make update lowers the others", wrongSizes,
	},
}

func wideProse(t tree) (found []string) {
	for name, lines := range t.pages() {
		for i, line := range lines {
			if n := utf8.RuneCountInString(line); n > 100 && !standsAlone(line) {
				found = append(found, problem(name, i+1, "%d columns", n))
			}
		}
	}
	return found
}

// standsAlone reports whether a line can't be broken: a row of a table, a heading, an image or a
// link.
func standsAlone(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") ||
		!strings.Contains(strings.TrimLeft(line, "-*> "), " ")
}

// place finds what ties a file to a machine: addresses of registries, directories of a person. The
// letters in brackets keep this file from finding itself.
var place = regexp.MustCompile(`prox[y]\.golang\.org|su[m]\.golang\.org` +
	`|registr[y]\.(npmjs|yarnpkg)\.|goprox[y]\.(io|cn)|pyp[i]\.org|mirro[r]s\.` +
	`|(^|[^\w.~$}-])/(roo[t]|hom[e]|User[s]|wor[k])/\w`)

func places(t tree) (found []string) {
	for name, lines := range t {
		for i, line := range lines {
			if m := place.FindString(line); m != "" {
				found = append(found, problem(name, i+1, "%q", strings.TrimSpace(m)))
			}
		}
	}
	return found
}

var link = regexp.MustCompile(`\]\(([^()\s]+)\)|(?:src|href)="([^"]+)"`)

// links calls visit for each link of a page to a file of the repository, or to a heading.
func links(page string, lines []string, visit func(line int, target, heading string)) {
	for i, line := range lines {
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			to := m[1] + m[2]
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			target, heading, _ := strings.Cut(to, "#")
			if target == "" {
				target = page
			} else {
				target = path.Join(path.Dir(page), target)
			}
			visit(i+1, target, heading)
		}
	}
}

func deadLinks(t tree) (found []string) {
	pages := t.pages()
	for page, lines := range pages {
		links(page, lines, func(line int, target, heading string) {
			to, isPage := pages[target]
			if !t.contains(target) || isPage && heading != "" && !hasHeading(to, heading) {
				found = append(found, problem(page, line, "there is no %s",
					strings.TrimSuffix(target+"#"+heading, "#")))
			}
		})
	}
	return found
}

// hasHeading knows headings by the anchors that GitHub gives them.
func hasHeading(lines []string, anchor string) bool {
	keep := func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c):
			return unicode.ToLower(c)
		}
		return -1
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "#") &&
			strings.Map(keep, strings.TrimSpace(strings.TrimLeft(line, "#"))) == anchor {
			return true
		}
	}
	return false
}

var (
	comment  = regexp.MustCompile(`(?:^|\s)// (.*)`)
	pageName = regexp.MustCompile(`[\w./-]*\w\.md\b`)
)

// missingPages leaves out this package, whose tests name pages that do not exist.
func missingPages(t tree) (found []string) {
	for name, lines := range t {
		if path.Ext(name) != ".go" || path.Dir(name) == "internal/lint" {
			continue
		}
		for i, line := range lines {
			for _, page := range pageName.FindAllString(comment.FindString(line), -1) {
				if !t.contains(page) {
					found = append(found, problem(name, i+1, "there is no %s", page))
				}
			}
		}
	}
	return found
}

var emptyName = regexp.MustCompile(`^package (utils?|helpers?|common|misc)$` +
	`|^func (\([^)]*\) )?Get[A-Z]|^type \w*(Manager|Helper|Utils?)\b` +
	`|^func \([^)]*\) ([Aa]t|[Oo]f|[Ii]n|[Hh]as|[Aa]ll)\(`)

func emptyNames(t tree) (found []string) {
	for name, lines := range t {
		for i, line := range lines {
			if path.Ext(name) == ".go" && emptyName.MatchString(line) &&
				!strings.Contains(line, "GetRetryType") { // its name is a library's
				found = append(found, problem(name, i+1, "%s", line))
			}
		}
	}
	return found
}

var (
	engine = regexp.MustCompile(`(?i)^[^/]*"[^"]*\b(pebble|cassandra|dynamo)[^"]*"`)
	// mayNameEngines are the packages that start engines, and the rest of their names in texts: an
	// example of an answer, and a word of a format.
	mayNameEngines = regexp.MustCompile(`^(bench|internal/(store|enginetest|tools))/`)
	namesEngine    = regexp.MustCompile(`"pebble 2\.1\.7"|AWSService: "`)
)

// namedEngines finds strings that name an engine. Help texts, which are raw strings, may.
func namedEngines(t tree) (found []string) {
	for name, lines := range t.program() {
		if mayNameEngines.MatchString(name) {
			continue
		}
		for i, line := range lines {
			if engine.MatchString(line) && !namesEngine.MatchString(line) {
				found = append(found, problem(name, i+1, "%s", strings.TrimSpace(line)))
			}
		}
	}
	return found
}

// lostPages finds the pages that no chain of links leads to from README.md. Those of internal are
// texts that the program embeds.
func lostPages(t tree) (found []string) {
	pages, reached := t.pages(), map[string]bool{}
	var follow func(name string)
	follow = func(name string) {
		if lines, ok := pages[name]; ok && !reached[name] {
			reached[name] = true
			links(name, lines, func(_ int, target, _ string) { follow(target) })
		}
	}
	follow("README.md")
	for name := range pages {
		if !reached[name] && !strings.HasPrefix(name, "internal/") {
			found = append(found, problem(name, 1, "nothing leads here from README.md"))
		}
	}
	return found
}
