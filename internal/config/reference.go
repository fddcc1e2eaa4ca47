package config

import (
	"fmt"
	"strings"
)

const referenceHead = `# Configuration

<!-- Generated from the settings that the program and the stores declare; do not edit. -->

A setting has three spellings: a key of the YAML file that --config or ANDON_CONFIG names, a
variable of the environment, a flag. Flags override variables, which override the file.
Secrets have no flag, since command lines can be read by every user of a machine.
Unknown names and invalid values are rejected: the program reports the position and exits.

| key | variable | flag | default | |
|---|---|---|---|---|
`

// Reference returns the page that lists every setting of groups, as Markdown.
func Reference(groups ...Group) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, s := range Settings(groups...) {
		flag, standard := "none", s.Value.String()
		if s.HasFlag() {
			flag = "`--" + s.Flag() + "`"
		}
		if standard != "" {
			standard = "`" + standard + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n",
			s.Key, s.Variable(), flag, standard, s.Help)
	}
	return b.String()
}
