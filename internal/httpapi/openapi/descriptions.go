package openapi

import (
	_ "embed"
	"strings"
)

// descriptions is the prose of the document. A heading such as "# events" names a tag, and one
// below it, such as "## postEvents", an operation. The first paragraph of an operation is its
// summary, the second its detail. The parameters of queries come last, below "# parameters", with
// one paragraph each.
//
//go:embed descriptions.md
var descriptions string

const tagOfParams = "parameters"

type text struct{ tag, summary, detail string }

// texts returns the descriptions of operations and of parameters, by their headings.
func texts() (operations, params map[string]text) {
	operations, params = map[string]text{}, map[string]text{}
	for section := range strings.SplitSeq(descriptions, "\n# ") {
		tag, rest, _ := strings.Cut(strings.TrimPrefix(section, "# "), "\n")
		into := operations
		if tag == tagOfParams {
			into = params
		}
		for part := range strings.SplitSeq(rest, "\n## ") {
			paragraphs := strings.Split(strings.TrimSpace(part), "\n\n")
			for len(paragraphs) < 3 {
				paragraphs = append(paragraphs, "")
			}
			into[paragraphs[0]] = text{tag, unwrapped(paragraphs[1]), unwrapped(paragraphs[2])}
		}
	}
	return operations, params
}

func unwrapped(paragraph string) string { return strings.ReplaceAll(paragraph, "\n", " ") }
