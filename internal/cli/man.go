package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/andonhq/andon/internal/cli/command"
)

func manCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `Write the manual pages into a directory, which is created if there is none: one page
of section 1 for each command. They have the text of --help.`,
		Example: `  andon man /usr/local/share/man/man1
  andon man . && man ./andon-import.1`,
	}
	return p.Does(cmd, func(_ context.Context, args []string) error {
		if err := writeManual(p, cmd.Root(), args[0]); err != nil {
			return fmt.Errorf("write manual: %w", err)
		}
		fmt.Fprintf(p, "Wrote the manual pages into %s.\n", args[0])
		return nil
	})
}

// writeManual dates the pages by the commit of the build, so that one build always writes the same
// pages.
func writeManual(p *command.Program, root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	header := doc.GenManHeader{Source: "andon " + p.Version.Version, Manual: "Andon"}
	if t, err := time.Parse(time.RFC3339, p.Version.Time); err == nil {
		header.Date = &t
	}
	inMarkdown(root)
	return doc.GenManTree(root, &header, dir)
}

// inMarkdown rewrites the help of a command and its subcommands as Markdown, which the generator
// expects. There, four spaces make a line verbatim.
func inMarkdown(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`", "[", `\[`)
	lines := strings.Split(cmd.Long, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "    " + line
		} else {
			lines[i] = escape.Replace(line)
		}
	}
	cmd.Long = strings.Join(lines, "\n")
	for _, below := range cmd.Commands() {
		inMarkdown(below)
	}
}
