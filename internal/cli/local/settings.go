package local

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/config"
)

// Runs makes a function the work of a command, with the configuration: it adds --config and a flag
// for each setting. It returns the command.
func Runs(
	p *command.Program, cmd *cobra.Command, work func(context.Context, app.Config) error,
) *cobra.Command {
	sources := SourceFlags(p, cmd)
	return p.Does(cmd, func(ctx context.Context, _ []string) error {
		c, _, err := app.LoadConfig(sources())
		if err != nil {
			return WrongConfig(err)
		}
		return work(ctx, c)
	})
}

// SourceFlags adds the same flags and returns the sources of the configuration after the flags were
// parsed.
func SourceFlags(p *command.Program, cmd *cobra.Command) (sources func() config.Sources) {
	const help = "YAML `file` to read the configuration from (or ANDON_CONFIG)"
	defaults := app.DefaultConfig()
	given := GroupFlags(cmd, "config", help, defaults.Groups())
	return func() config.Sources {
		from := given()
		from.Env = p.Environ
		return from
	}
}

// GroupFlags adds a flag for each setting of groups, and one that names a file with them. The
// sources that it returns have no environment.
func GroupFlags(
	cmd *cobra.Command, fileFlag, help string, groups []config.Group,
) (sources func() config.Sources) {
	settings, flags := config.Settings(groups...), cmd.Flags() // the most used come first
	file := flags.String(fileFlag, "", help)
	for _, s := range settings {
		if !s.HasFlag() {
			continue
		}
		flags.Var(&settingFlag{text: s.Value.String(), form: s.Value.Type()}, s.Flag(), s.Help)
		command.CompleteWords(cmd, s.Flag(), s.Value.Type())
	}
	return func() config.Sources {
		from := config.Sources{File: *file, Flags: map[string]string{}}
		for _, s := range settings {
			if s.HasFlag() && flags.Changed(s.Flag()) {
				from.Flags[s.Key] = flags.Lookup(s.Flag()).Value.String()
			}
		}
		return from
	}
}

// settingFlag keeps the text of a flag until the configuration is read, which checks flags,
// variables and keys of a file in the same way.
type settingFlag struct{ text, form string }

func (f *settingFlag) Set(text string) error { f.text = text; return nil }

func (f *settingFlag) String() string { return f.text }

func (f *settingFlag) Type() string { return f.form }
