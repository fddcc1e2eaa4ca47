package local

import (
	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/all"
)

// SettingFlags adds --config and a flag for each setting to a command. The function that it returns
// reads the configuration after the flags were parsed.
func SettingFlags(p *command.Program, cmd *cobra.Command) (load func() (app.Config, error)) {
	return loading(SourceFlags(p, cmd))
}

// StoreFlags is SettingFlags with only the flags for settings of stores.
func StoreFlags(p *command.Program, cmd *cobra.Command) (load func() (app.Config, error)) {
	return loading(flagsOf(p, cmd, all.New().Groups()))
}

func loading(sources func() config.Sources) (load func() (app.Config, error)) {
	return func() (app.Config, error) {
		c, _, err := app.LoadConfig(sources())
		if err != nil {
			return c, WrongConfig(err)
		}
		return c, nil
	}
}

// SourceFlags adds the same flags and returns the sources of the configuration.
func SourceFlags(p *command.Program, cmd *cobra.Command) (sources func() config.Sources) {
	defaults := app.DefaultConfig()
	return flagsOf(p, cmd, defaults.Groups())
}

func flagsOf(
	p *command.Program, cmd *cobra.Command, groups []config.Group,
) (sources func() config.Sources) {
	const help = "YAML `file` to read the configuration from (or ANDON_CONFIG)"
	given := GroupFlags(cmd, "config", help, groups)
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
