package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/httpapi"
)

func (p *program) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print which build this is",
		Example: `  andon version
  andon version --json`,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = p.does(func(context.Context, []string) error {
		if asJSON {
			return json.NewEncoder(p.stdout).Encode(p.version)
		}
		return p.printVersion()
	})
	return cmd
}

func (p *program) printVersion() error {
	_, err := fmt.Fprintln(p.stdout, versionLine(p.version))
	return err
}

// versionLine is "andon v1.2.3 (1a2b3c4, 2025-12-04T12:00:00Z, go1.26.8)".
func versionLine(v httpapi.Version) string {
	line := "andon " + v.Version + " ("
	if v.Revision != "" {
		line += v.Revision[:min(len(v.Revision), 12)] + ", " + v.Time + ", "
	}
	return line + v.Go + ")"
}

// buildVersion returns what the build wrote down. release is what the linker stamped, if it did.
func buildVersion(release string) httpapi.Version {
	v := httpapi.Version{Version: release, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if v.Version == "" {
		v.Version = info.Main.Version
	}
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
