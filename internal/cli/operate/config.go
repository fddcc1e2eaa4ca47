package operate

import (
	"cmp"
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
	cmd := command.Group(&cobra.Command{
		Use:   "config",
		Short: "Check the configuration, or print the effective one",
		Long: `Check the configuration, or print the effective one: what the file, the variables of
the environment and the flags make together, as "andon serve" would take it.`,
		Example: `  andon config check /etc/andon/andon.yaml
  andon config print --config /etc/andon/andon.yaml`,
	})
	cmd.AddCommand(configCheckCommand(p), configPrintCommand(p))
	return cmd
}

func configCheckCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a configuration, and all that it names",
		Long: `Check the configuration that "andon serve" would start with here: FILE (or the one
that --config or ANDON_CONFIG names), the variables of the environment, the flags. All that is wrong
is printed at once, each with its place.

Checked are the names and the forms of all settings, then what a start would refuse: addresses
beyond loopback without a token, files of token and certificate that can't be read, a store that
this build has not. Nothing is listened on and no store is opened; "andon doctor" does that. With
--syntax nothing but the configuration itself is looked at, as for a file that is meant for another
machine.

Exit codes: 0 all is well, 2 something is wrong.`,
		Example: `  andon config check /etc/andon/andon.yaml
  andon config check --syntax deploy/systemd/andon.yaml
  ANDON_LISTEN=0.0.0.0:8080 andon config check`,
	}
	sources := local.SourceFlags(p, cmd)
	syntax := cmd.Flags().Bool("syntax", false, "do not look at what the configuration names")
	cmd.RunE = p.Does(func(_ context.Context, args []string) error {
		from := sources()
		if len(args) == 1 {
			from.File = args[0]
		}
		return checkConfig(p, from, *syntax)
	})
	return cmd
}

// checkConfig prints a line when all is well. What is wrong is the error.
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
	fmt.Fprintf(p.Stdout, "The configuration is valid: %s set, the other %d at their defaults.\n",
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
		Short: "Print each setting with its value and where that comes from",
		Long: `Print the configuration that "andon serve" would start with here: each setting with
its value and the place that it comes from. As YAML it can be used as a file. No secret is printed:
that a password is set is told, and files that hold secrets are not read.`,
		Example: `  andon config print
  andon config print --config /etc/andon/andon.yaml --output json
  andon config print --output yaml > andon.yaml`,
	}
	sources := local.SourceFlags(p, cmd)
	form := command.ReportFlag(cmd, command.FormatYAML)
	cmd.RunE = p.Does(func(context.Context, []string) error {
		_, origins, err := app.LoadConfig(sources())
		if err != nil {
			return local.WrongConfig(err)
		}
		return printConfig(p, origins, form.Value)
	})
	return cmd
}

func printConfig(p *command.Program, origins []config.Origin, form string) error {
	switch form {
	case command.FormatJSON:
		return printConfigJSON(p, origins)
	case command.FormatYAML:
		for _, o := range origins {
			printYAML(p, o)
		}
		return nil
	}
	rows := [][]draw.Cell{draw.Texts("SETTING", "VALUE", "FROM")}
	for _, o := range origins {
		rows = append(rows, draw.Texts(o.Key, cmp.Or(shownValue(o), "(not set)"), o.Place))
	}
	p.Printer().Table(rows)
	return nil
}

// printYAML prints a setting as a line of a file. A secret is left out: the line would set another
// value.
func printYAML(p *command.Program, o config.Origin) {
	if o.Secret && !o.IsDefault() {
		fmt.Fprintf(p.Stdout, "# %s is not shown # %s\n", o.Key, o.Place)
		return
	}
	fmt.Fprintf(p.Stdout, "%s: %s # %s\n", o.Key, strconv.Quote(shownValue(o)), o.Place)
}

type originJSON struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	From  string `json:"from"`
}

func printConfigJSON(p *command.Program, origins []config.Origin) error {
	all := make([]originJSON, len(origins))
	for i, o := range origins {
		all[i] = originJSON{Key: o.Key, Value: shownValue(o), From: o.Place}
	}
	return p.PrintJSON(all)
}

// shownValue is a value without what no one may see: addresses may be written with a password.
func shownValue(o config.Origin) string {
	value := o.Value.String()
	if u, err := url.Parse(value); err == nil && u.User != nil {
		return u.Redacted()
	}
	return value
}
