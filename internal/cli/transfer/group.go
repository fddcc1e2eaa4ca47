package transfer

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Group is "andon group".
func Group(p *command.Program) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "group",
		Short: "List groups of devices, and put devices into them",
		Long: `List groups of devices, and put devices into them. A group is a path such as
plant-1/hall-3/line-7. A device is in one group at most, and in all groups above it.`,
		Example: `  andon group list --under plant-1
  andon group set press-7 plant-1/hall-3
  andon group import groups.csv`,
	}, groupList(p), groupSet(p), groupImport(p))
}

func groupList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List groups with how many devices are in each state",
		Long: `List groups with how many devices are in each state now. Counts include the devices
of all groups below.`,
		Example: `  andon group list
  andon group list --under plant-1 --output csv`,
	}
	t := p.NewTarget(cmd)
	o := p.NewOutput(cmd)
	under := cmd.Flags().String("under", "", "only this `group` and those below it")
	return t.Asks(func(ctx context.Context, c *client.Client, _ []string) error {
		columns := command.Fields[client.Group]("group", "devices", "silent", "states")
		return command.Show(p, o, columns, c.Groups(ctx, andon.Group(*under)))
	})
}

func groupSet(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set DEVICE (GROUP | --none)",
		Short: "Put a device into a group",
		Long: `Put a device into a group, or with --none into none of its own. The device need not
have been seen.`,
		Example: `  andon group set press-7 plant-1/hall-3
  andon group set press-7 --none`,
	}
	t := p.NewTarget(cmd)
	none := cmd.Flags().Bool("none", false, "no group of its own")
	form := command.SentenceFlag(cmd, command.FormatText)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *none {
			return command.Arguments("DEVICE")(cmd, args)
		}
		return command.Arguments("DEVICE", "GROUP")(cmd, args)
	}
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		change := andon.ProfileChange{Fields: andon.ProfileGroup}
		change.Device = andon.DeviceID(args[0])
		in := "no group of its own"
		if !*none {
			change.Group, in = andon.Group(args[1]), draw.Legible(args[1])
			if err := change.Group.Validate(); err != nil {
				return err
			}
		}
		if err := change.Validate(); err != nil {
			return err
		}
		kept, err := c.PutProfile(ctx, change)
		if err != nil {
			return err
		}
		return p.Report(form, kept, "%s is in %s", draw.Legible(args[0]), in)
	})
}

func groupImport(p *command.Program) *cobra.Command {
	o := importer{Program: p, lines: kindProfiles, batch: andon.MaxRequestEntries}
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Put the devices of a file into groups",
		Long: `Put the devices of a file into groups: CSV with a header, JSON or NDJSON, with the
columns device and group; a group that is empty or null is none of its own. The columns name,
labels, location and parent say more of a device. Wrong lines are reported as FILE:LINE: reason, the
others take effect, and the exit code is 3.`,
		Example: `  andon group import groups.csv
  andon group import groups.ndjson --tenant metro`,
	}
	o.Target = p.NewTarget(cmd)
	o.Attempts = command.AttemptsRunning
	cmd.Flags().StringVar(&o.format, "format", "",
		"`form` of the file: csv, json or ndjson (default: by its name)")
	o.form = command.SentenceFlag(cmd, command.FormatText)
	return p.Does(cmd, o.importFiles)
}
