package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// TestHelpFits: the help of every command fits a terminal of 80 columns, but for examples and
// usage lines, which are to be pasted. What all name comes before what few do.
func TestHelpFits(t *testing.T) {
	p := &command.Program{Now: func() andon.Time { return 0 }}
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		part := ""
		for line := range strings.SplitSeq(out.String(), "\n") {
			if line != "" && line[0] != ' ' {
				part = line
			}
			pasted := part == "Examples:" || part == "Usage:"
			if draw.ColumnsOf(line) > helpWidth && !pasted {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), draw.ColumnsOf(line), line)
			}
		}
		if cmd.Name() == "serve" {
			serveHelp(t, out.String())
		}
		for _, sub := range cmd.Commands() {
			each(sub)
		}
	}
	each(rootCommand(p))
}

func serveHelp(t *testing.T, text string) {
	t.Helper()
	at := 0
	for _, part := range []string{
		"--listen text", "--data text", "--pprof-listen text", "Flags for --store cassandra:",
		"--cassandra-hosts list",
	} {
		next := strings.Index(text, part)
		if next < at {
			t.Errorf("%s comes at %d, what should be before it at %d", part, next, at)
		}
		at = next
	}
}
