package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

func manCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `Write the manual pages into a directory, which is made where there is none: one page
for each command, of section 1. They say what --help says.`,
		Example: `  andon man /usr/local/share/man/man1
  andon man . && man ./andon-import.1`,
	}
	cmd.RunE = p.Does(func(_ context.Context, args []string) error {
		return writeManual(p, cmd.Root(), args[0])
	})
	return cmd
}

func writeManual(p *command.Program, root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write manual: %w", err)
	}
	pages := manualPages(root)
	for _, cmd := range pages {
		text := manual{cmd: cmd, release: p.Version.Version,
			date: releaseDate(p.Version.Time)}.page()
		file := filepath.Join(dir, manualName(cmd)+".1")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write manual: %w", err)
		}
	}
	fmt.Fprintf(p.Stdout, "Wrote %s into %s.\n", draw.Count(len(pages), "page"), dir)
	return nil
}

// manualPages returns a command and all below it that the help lists.
func manualPages(cmd *cobra.Command) []*cobra.Command {
	pages := []*cobra.Command{cmd}
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() && below.Name() != "help" {
			pages = append(pages, manualPages(below)...)
		}
	}
	return pages
}

// manualName is "andon-config-check", as git and others name theirs.
func manualName(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "-")
}

// releaseDate is the day of the commit that this was built from, so that the same build writes the
// same pages at all times; "" where the build does not know it.
func releaseDate(at string) string {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// manual is one page in the language of man(7).
type manual struct {
	cmd     *cobra.Command
	release string
	date    string
	b       strings.Builder
}

func (m manual) page() string {
	cmd := m.cmd
	cmd.InitDefaultHelpFlag()
	fmt.Fprintf(&m.b, ".TH %s 1 %s %s %s\n", quoteRoff(strings.ToUpper(manualName(cmd))),
		quoteRoff(m.date), quoteRoff("andon "+m.release), quoteRoff("Andon"))
	m.line(".nh\n.ad l") // words are commands and paths: none is divided, no space is stretched
	m.section("NAME")
	m.line(`%s \- %s`, roff(manualName(cmd)), roff(cmd.Short))
	m.section("SYNOPSIS")
	m.line(`\fB%s\fR`, roff(cmd.UseLine()))
	m.section("DESCRIPTION")
	m.prose(description(cmd))
	m.commands()
	m.flags()
	if cmd.Example != "" {
		m.section("EXAMPLES")
		m.verbatim(strings.Split(cmd.Example, "\n"))
	}
	m.also()
	return m.b.String()
}

func description(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

func (m *manual) line(format string, args ...any) { fmt.Fprintf(&m.b, format+"\n", args...) }

func (m *manual) section(title string) { m.line(".SH %s", title) }

// prose writes paragraphs. Lines that are indented are a table, and stay as they are.
func (m *manual) prose(text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			m.line(".PP")
		}
		lines := strings.Split(paragraph, "\n")
		if strings.HasPrefix(lines[0], "  ") {
			m.verbatim(lines)
			continue
		}
		for _, line := range lines {
			m.line("%s", roff(line))
		}
	}
}

func (m *manual) verbatim(lines []string) {
	m.line(".nf")
	for _, line := range lines {
		m.line("%s", roff(line))
	}
	m.line(".fi")
}

func (m *manual) commands() {
	pages := manualPages(m.cmd)
	if len(pages) == 1 {
		return
	}
	m.section("COMMANDS")
	for _, below := range m.cmd.Commands() {
		if below.IsAvailableCommand() && below.Name() != "help" {
			m.item(below.Name(), "", below.Short+".")
		}
	}
}

func (m *manual) flags() {
	m.section("OPTIONS")
	m.cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if usage += "."; showsDefault(f) {
			usage += " Default: " + f.DefValue + "."
		}
		m.item(name, value, usage)
	})
}

// showsDefault leaves out the values that say nothing.
func showsDefault(f *pflag.Flag) bool {
	return f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]"
}

// item is a term and what it means.
func (m *manual) item(name, value, meaning string) {
	m.line(".TP")
	term := `\fB` + roff(name) + `\fR`
	if value != "" {
		term += ` \fI` + roff(value) + `\fR`
	}
	m.line("%s", term)
	m.line("%s", roff(meaning))
}

// also names the commands above and below.
func (m *manual) also() {
	var names []string
	if m.cmd.HasParent() {
		names = append(names, manualName(m.cmd.Parent()))
	}
	for _, below := range manualPages(m.cmd)[1:] {
		if below.Parent() == m.cmd {
			names = append(names, manualName(below))
		}
	}
	if len(names) == 0 {
		return
	}
	m.section("SEE ALSO")
	for i, name := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		m.line(`\fB%s\fR(1)%s`, roff(name), end)
	}
}

// roff escapes what the language would read as its own: backslashes, hyphens that are to be typed,
// quotes that would become typographic ones, a dot that begins a line, and what is beyond ASCII.
func roff(text string) string {
	escaped := strings.NewReplacer(
		`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\(ga", "^", `\(ha`, "~", `\(ti`,
	).Replace(text)
	var b strings.Builder
	for i, r := range escaped {
		switch {
		case i == 0 && r == '.':
			b.WriteString(`\&.`)
		case r > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// quoteRoff makes one argument of a macro.
func quoteRoff(text string) string {
	return `"` + strings.ReplaceAll(roff(text), `"`, `\(dq`) + `"`
}
