package cli

import (
	"cmp"
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

func versionCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  andon version
  andon version --output json`,
	}
	form := command.SentenceFlag(cmd, command.FormatText)
	return p.Does(cmd, func(context.Context, []string) error {
		return p.Report(form, p.Version, "%s", command.VersionLine(p.Version))
	})
}

// buildVersion returns the version that the build recorded. release is what the linker set, or "".
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
