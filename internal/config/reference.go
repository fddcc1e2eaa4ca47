package config

import (
	"fmt"
	"strings"
)

const referenceHead = `# Configuration

<!-- Generated from the list in internal/config/settings.go; do not edit. -->

A setting has three spellings: a key of the YAML file that --config or ANDON_CONFIG names, a
variable of the environment, a flag. Flags override variables, which override the file.
Secrets have no flag, since command lines can be read by every user of a machine.
Unknown names and invalid values are rejected: the program reports the position and exits.

| key | variable | flag | default | |
|---|---|---|---|---|
`

// Reference returns the page that lists every setting, as Markdown.
func Reference() string {
	c := Default()
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, s := range c.Settings() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n",
			s.Key, s.Variable(), flagOf(s), defaultOf(s), s.Help)
	}
	return b.String()
}

func defaultOf(s Setting) string {
	if s.Value.String() == "" {
		return ""
	}
	return "`" + s.Value.String() + "`"
}

func flagOf(s Setting) string {
	if !s.HasFlag() {
		return "none"
	}
	return "`--" + s.Flag() + "`"
}
