package operate

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/store/all"
)

func storeTemplateCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "template",
		Short: "Print the schema for a tool that describes infrastructure",
		Long: `Print the tables of the store that is configured, with indexes, expiry, capacity and
alarms, as a template for a tool that describes infrastructure. It makes what andon store init
makes, and the alarms besides. Nothing is asked of the store. Only DynamoDB has such templates.`,
		Example: `  andon store template --store dynamodb --format cloudformation > andon.yaml
  andon store template --store dynamodb --format terraform --capacity provisioned > andon.tf`,
	}
	load := local.SettingFlags(p, cmd)
	formats, capacities := templateWords()
	format := command.ChoiceFlag(cmd, "format", "", "the tool", formats...)
	capacity := command.ChoiceFlag(cmd, "capacity", "",
		"how the tables are paid for (default: as the settings have it)", capacities...)
	cmd.RunE = p.Does(func(context.Context, []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		return storeTemplate(p, c, format.Value, capacity.Value)
	})
	return cmd
}

// templateWords are the formats and the capacities of all stores.
func templateWords() (formats, capacities []string) {
	for _, e := range all.New() {
		formats = append(formats, e.Formats()...)
		capacities = append(capacities, e.Capacities()...)
	}
	return formats, capacities
}

func storeTemplate(p *command.Program, c app.Config, format, capacity string) error {
	e, err := c.Engine()
	if err != nil {
		return err
	}
	if len(e.Formats()) == 0 {
		return andon.Errorf(andon.Invalid, "the store %s has no templates", e.Name())
	}
	if format == "" {
		return andon.Errorf(andon.Invalid, "name the tool by --format: %s",
			strings.Join(e.Formats(), " or "))
	}
	text, err := e.Template(format, capacity)
	if err == nil {
		fmt.Fprint(p.Stdout, text)
	}
	return err
}
