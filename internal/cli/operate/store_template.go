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
		Short: "Print the schema as a template for an infrastructure tool",
		Long: `Print the tables of the configured store, with indexes, expiry, capacity, recovery
and streams, as a template for an infrastructure tool. The template creates what andon store init
creates, and in addition alarms on each table and index, and the policy of IAM that a process needs.
CloudFormation wants --capabilities CAPABILITY_IAM for it. The store is not contacted. Only DynamoDB
has templates.`,
		Example: `  andon store template --store dynamodb --format cloudformation > andon.yaml
  andon store template --store dynamodb --format terraform --capacity provisioned > andon.tf`,
	}
	load := local.SettingFlags(p, cmd)
	formats, capacities := templateWords()
	format := command.ChoiceFlag(cmd, "format", "", "the tool", formats...)
	capacity := command.ChoiceFlag(cmd, "capacity", "",
		"how the tables are paid for (default: as in the settings)", capacities...)
	cmd.RunE = p.Does(func(context.Context, []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		return storeTemplate(p, c, format.Value, capacity.Value)
	})
	return cmd
}

// templateWords returns the formats and capacities of all stores.
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
		return andon.Errorf(andon.Invalid, "--format is missing: %s",
			strings.Join(e.Formats(), " or "))
	}
	text, err := e.Template(format, capacity)
	if err == nil {
		fmt.Fprint(p.Stdout, text)
	}
	return err
}
