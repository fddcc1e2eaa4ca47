package cli

import (
	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/config"
)

// settingFlags gives a command a flag for each setting, and --config. It returns what reads the
// configuration once the flags are parsed.
func (p *program) settingFlags(cmd *cobra.Command) (load func() (config.Config, error)) {
	sources := p.sourceFlags(cmd)
	return func() (config.Config, error) {
		c, err := config.Load(sources())
		if err != nil {
			return c, wrongConfig(err)
		}
		return c, nil
	}
}

// sourceFlags gives a command the same flags, and returns where they say the configuration is.
func (p *program) sourceFlags(cmd *cobra.Command) (sources func() config.Sources) {
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
		flags.Var(&settingFlag{text: s.Value.String(), form: s.Value.Type()}, s.Flag(), s.Help)
		completeWords(cmd, s.Flag(), s.Value.Type())
	}
	return func() config.Sources {
		from := config.Sources{File: *file, Env: p.environ, Flags: map[string]string{}}
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
func (f *settingFlag) String() string        { return f.text }
func (f *settingFlag) Type() string          { return f.form }
