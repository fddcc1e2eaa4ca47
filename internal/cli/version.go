package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

func versionCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print which build this is",
		Example: `  andon version
  andon version --output json`,
	}
	form := command.SentenceFlag(cmd, command.FormatText)
	cmd.RunE = p.Does(func(context.Context, []string) error {
		return p.Tell(form, p.Version, "%s", command.VersionLine(p.Version))
	})
	return cmd
}

func printVersion(p *command.Program) error {
	_, err := fmt.Fprintln(p.Stdout, command.VersionLine(p.Version))
	return err
}

// buildVersion returns what the build wrote down. release is what the linker stamped, if it did.
func buildVersion(release string) client.Version {
	v := client.Version{Version: release, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = cmp.Or(v.Version, info.Main.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		}
	}
	return v
}
