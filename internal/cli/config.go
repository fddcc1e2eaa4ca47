package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/config"
)

func (p *program) configCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "config",
		Short: "Check the configuration, or print the one that holds",
		Long: `Check the configuration, or print the one that holds: what the file, the variables of
the environment and the flags make together, as "andon serve" would take it.`,
		Example: `  andon config check /etc/andon/andon.yaml
  andon config print --config /etc/andon/andon.yaml`,
	})
	cmd.AddCommand(p.configCheckCommand(), p.configPrintCommand())
	return cmd
}

func (p *program) configCheckCommand() *cobra.Command {
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
	sources := p.sourceFlags(cmd)
	syntax := cmd.Flags().Bool("syntax", false, "do not look at what the configuration names")
	cmd.RunE = p.does(func(_ context.Context, args []string) error {
		from := sources()
		if len(args) == 1 {
			from.File = args[0]
		}
		return p.checkConfig(from, *syntax)
	})
	return cmd
}

// checkConfig prints a line when all is well. What is wrong is the error.
func (p *program) checkConfig(from config.Sources, syntax bool) error {
	c, origins, err := config.Trace(from)
	if err != nil {
		return wrongConfig(err)
	}
	if !syntax {
		if err := app.Check(c); err != nil {
			return wrongConfig(err)
		}
	}
	fmt.Fprintf(p.stdout, "The configuration is well: %s set, the other %d at their defaults.\n",
		count(changed(origins), "setting"), len(origins)-changed(origins))
	return nil
}

func wrongConfig(err error) error {
	return andon.Errorf(andon.Invalid, "the configuration is wrong:\n%w", err)
}

func changed(origins []config.Origin) (n int) {
	for _, o := range origins {
		if !o.IsDefault() {
			n++
		}
	}
	return n
}

// count is "1 setting" or "2 settings".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// groupedCount is count with the thousands of the number apart.
func groupedCount(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(n) + " " + what
}

const formatYAML = "yaml"

func (p *program) configPrintCommand() *cobra.Command {
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
	sources := p.sourceFlags(cmd)
	form := choiceFlag(cmd, "output", formatTable, "form of the output",
		formatTable, formatJSON, formatYAML)
	cmd.RunE = p.does(func(context.Context, []string) error {
		_, origins, err := config.Trace(sources())
		if err != nil {
			return wrongConfig(err)
		}
		return p.printConfig(origins, form.value)
	})
	return cmd
}

func (p *program) printConfig(origins []config.Origin, form string) error {
	switch form {
	case formatJSON:
		return p.printConfigJSON(origins)
	case formatYAML:
		for _, o := range origins {
			p.printYAML(o)
		}
		return nil
	}
	rows := [][]cell{texts("SETTING", "VALUE", "FROM")}
	for _, o := range origins {
		rows = append(rows, texts(o.Key, cmp.Or(shownValue(o), "(not set)"), o.Place))
	}
	p.newPage().table(rows)
	return nil
}

// printYAML prints a setting as a line of a file. A secret is left out: the line would set another
// value.
func (p *program) printYAML(o config.Origin) {
	if o.Secret && !o.IsDefault() {
		fmt.Fprintf(p.stdout, "# %s is not shown # %s\n", o.Key, o.Place)
		return
	}
	fmt.Fprintf(p.stdout, "%s: %s # %s\n", o.Key, strconv.Quote(shownValue(o)), o.Place)
}

type originJSON struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	From  string `json:"from"`
}

func (p *program) printConfigJSON(origins []config.Origin) error {
	all := make([]originJSON, len(origins))
	for i, o := range origins {
		all[i] = originJSON{Key: o.Key, Value: shownValue(o), From: o.Place}
	}
	return p.printJSON(all)
}

// printJSON prints a value for programs, and for people who look at what programs get.
func (p *program) printJSON(value any) error {
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// shownValue is a value without what nobody may see: addresses may be written with a password.
func shownValue(o config.Origin) string {
	value := o.Value.String()
	if u, err := url.Parse(value); err == nil && u.User != nil {
		return u.Redacted()
	}
	return value
}
