package local

import (
	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/config"
)

// SettingFlags gives a command a flag for each setting, and --config. It returns what reads the
// configuration once the flags are parsed.
func SettingFlags(p *command.Program, cmd *cobra.Command) (load func() (config.Config, error)) {
	sources := SourceFlags(p, cmd)
	return func() (config.Config, error) {
		c, err := config.Load(sources())
		if err != nil {
			return c, WrongConfig(err)
		}
		return c, nil
	}
}

// SourceFlags gives a command the same flags, and returns where they say the configuration is.
func SourceFlags(p *command.Program, cmd *cobra.Command) (sources func() config.Sources) {
	defaults := config.Default()
	settings := defaults.Settings()
	flags := cmd.Flags()
	flags.SortFlags = false // what is named most comes first
	file := flags.String("config", "",
		"YAML `file` to read the configuration from (or ANDON_CONFIG)")
	for _, s := range settings {
		if !s.HasFlag() {
			continue
		}
		flags.Var(&SettingFlag{Text: s.Value.String(), Form: s.Value.Type()}, s.Flag(), s.Help)
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

// SettingFlag keeps the text of a flag until the configuration is read: there the flag, the
// variable and the key of a file are checked alike.
type SettingFlag struct{ Text, Form string }

// Set is of pflag.Value.
func (f *SettingFlag) Set(text string) error { f.Text = text; return nil }

// String is of pflag.Value.
func (f *SettingFlag) String() string { return f.Text }

// Type is of pflag.Value.
func (f *SettingFlag) Type() string { return f.Form }
