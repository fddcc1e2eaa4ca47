package operate

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/config"
)

// Config is "andon config".
func Config(p *command.Program) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "config",
		Short: "Check the configuration, or print the effective one",
		Long: `Check the configuration, or print the effective one: the file, environment variables
and flags together, as "andon serve" would read them.`,
		Example: `  andon config check /etc/andon/andon.yaml
  andon config print --config /etc/andon/andon.yaml`,
	}, configCheckCommand(p), configPrintCommand(p))
}

func configCheckCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a configuration, and the files that it names",
		Long: `Check the configuration that "andon serve" would start with here: FILE (or the one
that --config or ANDON_CONFIG names), environment variables and flags. All errors are printed, each
with its place.

It checks names and values of all settings, then what would prevent a start: addresses beyond
loopback without a token, files of tokens, secrets, certificates and mappings that can't be read, a
store that this build does not have. It sends nothing, does not listen and opens no store; "andon
doctor" does that. With --syntax it checks only the configuration itself, as for a file that is
meant for another machine.

Exit codes: 0 the configuration is valid, 2 it is not.`,
		Example: `  andon config check /etc/andon/andon.yaml
  andon config check --syntax deploy/systemd/andon.yaml
  ANDON_LISTEN=0.0.0.0:8080 andon config check`,
	}
	sources := local.SourceFlags(p, cmd)
	syntax := cmd.Flags().Bool("syntax", false, "do not check what the configuration names")
	return p.Does(cmd, func(_ context.Context, args []string) error {
		from := sources()
		if len(args) == 1 {
			from.File = args[0]
		}
		return checkConfig(p, from, *syntax)
	})
}

// checkConfig prints a line if the configuration is valid, else it returns what is wrong.
func checkConfig(p *command.Program, from config.Sources, syntax bool) error {
	c, origins, err := app.LoadConfig(from)
	if err != nil {
		return local.WrongConfig(err)
	}
	if !syntax {
		if err := app.Check(c); err != nil {
			return local.WrongConfig(err)
		}
	}
	fmt.Fprintf(p, "The configuration is valid: %s set, the other %d at their defaults.\n",
		draw.Count(changed(origins), "setting"), len(origins)-changed(origins))
	return nil
}

func changed(origins []config.Origin) (n int) {
	for _, o := range origins {
		if !o.IsDefault() {
			n++
		}
	}
	return n
}

func configPrintCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print each setting with its value and its source",
		Long: `Print the configuration that "andon serve" would start with here: each setting with
its value and its source. The YAML output can be used as a file. No secret is printed: only that it
is set; files with secrets are not read.`,
		Example: `  andon config print
  andon config print --config /etc/andon/andon.yaml --output json
  andon config print --output yaml > andon.yaml`,
	}
	sources := local.SourceFlags(p, cmd)
	form := command.ReportFlag(cmd, command.FormatYAML)
	return p.Does(cmd, func(context.Context, []string) error {
		_, origins, err := app.LoadConfig(sources())
		if err != nil {
			return local.WrongConfig(err)
		}
		return printConfig(p, origins, form)
	})
}

func printConfig(p *command.Program, origins []config.Origin, form *command.Choice) error {
	type setting struct {
		Key   string `json:"key"`
		Value string `json:"value"`
		From  string `json:"from"`
	}
	all := make([]setting, len(origins))
	for i, o := range origins {
		all[i] = setting{o.Key, shownValue(o), o.Place}
	}
	switch form.Value {
	case command.FormatJSON:
		return p.PrintJSON(all)
	case command.FormatYAML:
		for _, o := range origins {
			printYAML(p, o)
		}
		return nil
	}
	columns := command.Fields[setting]("key", "value", "from").OrElse("value", "(not set)")
	return command.Show(p, &command.Output{Format: form, All: true}, columns, command.Each(all))
}

// printYAML prints a setting as a line of a file. A secret is a comment: without its value the line
// would change it.
func printYAML(p *command.Program, o config.Origin) {
	if o.Secret && !o.IsDefault() {
		fmt.Fprintf(p, "# %s is not shown # %s\n", o.Key, o.Place)
		return
	}
	fmt.Fprintf(p, "%s: %s # %s\n", o.Key, strconv.Quote(shownValue(o)), o.Place)
}

// shownValue returns a value without secrets: addresses may contain a password.
func shownValue(o config.Origin) string {
	value := o.Value.String()
	if u, err := url.Parse(value); err == nil && u.User != nil {
		return u.Redacted()
	}
	return value
}
