package local

import (
	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/all"
)

// SettingFlags gives a command a flag for each setting, and --config. It returns what reads the
// configuration once the flags are parsed.
func SettingFlags(p *command.Program, cmd *cobra.Command) (load func() (app.Config, error)) {
	return loading(SourceFlags(p, cmd))
}

// StoreFlags is SettingFlags with the flags of the stores' own settings alone.
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

// SourceFlags gives a command the same flags, and returns where they say the configuration is.
func SourceFlags(p *command.Program, cmd *cobra.Command) (sources func() config.Sources) {
	defaults := app.DefaultConfig()
	return flagsOf(p, cmd, defaults.Groups())
}

func flagsOf(
	p *command.Program, cmd *cobra.Command, groups []config.Group,
) (sources func() config.Sources) {
	settings, flags := config.Settings(groups...), cmd.Flags() // what is named most comes first
	file := flags.String("config", "",
		"YAML `file` to read the configuration from (or ANDON_CONFIG)")
	for _, s := range settings {
		if !s.HasFlag() {
			continue
		}
		flags.Var(&settingFlag{text: s.Value.String(), form: s.Value.Type()}, s.Flag(), s.Help)
		command.CompleteWords(cmd, s.Flag(), s.Value.Type())
	}
	return func() config.Sources {
		from := config.Sources{File: *file, Env: p.Environ, Flags: map[string]string{}}
		for _, s := range settings {
			if s.HasFlag() && flags.Changed(s.Flag()) {
				from.Flags[s.Key] = flags.Lookup(s.Flag()).Value.String()
			}
		}
		return from
	}
}

// settingFlag keeps the text of a flag until the configuration is read: there the flag, the
// variable and the key of a file are checked alike.
type settingFlag struct{ text, form string }

func (f *settingFlag) Set(text string) error { f.text = text; return nil }

func (f *settingFlag) String() string { return f.text }

func (f *settingFlag) Type() string { return f.form }
