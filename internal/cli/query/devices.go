package query

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

func queryDevice(p *command.Program) *cobra.Command {
	q, cmd := newQuery(p, &cobra.Command{
		Use: "device DEVICE", Short: "What a device shows now",
		Example: `  andon query device press-7
  andon query device 'd#12345' --output json`,
	})
	return q.runsFor(cmd, func(ctx context.Context, c *client.Client, id andon.DeviceID) error {
		d, err := c.Device(ctx, id)
		if err != nil {
			return err
		}
		return command.ShowOne(q.Program, q.Output, deviceColumns(), d)
	})
}

func queryDevices(p *command.Program) *cobra.Command {
	q, cmd := newList(p, &cobra.Command{
		Use: "devices", Short: "Devices by what they show now",
		Long: `Devices by what they show now, sorted by id unless --sort says otherwise. In the
other orders, a device that changes its place meanwhile may be missed or come twice.`,
		Example: `  andon query devices --state 'WARNING*' --sort severity
  andon query devices --operator Liz
  andon query devices --search 'oil is hot'
  andon query devices --silent --sort since
  andon query devices --device 'press*' --all --output csv
  andon query devices --retired`,
	})
	var dq client.DeviceQuery
	q.stateFlag(cmd)
	command.DeviceFlags(cmd, &dq)
	hiddenFlags(cmd, &dq)
	cmd.Flags().StringVar(&dq.Search, "search", "",
		"`text` in id, operator, supervisor or message; case does not matter")
	sort := command.ChoiceFlag(cmd, "sort", "device",
		"by id (device), longest in its state first (since), or severest first, then longest",
		"device", "since", "severity")
	return q.runs(cmd, func(ctx context.Context, c *client.Client, _ []string) error {
		dq.State, dq.Sort, dq.Page = q.selected.State, sort.Value, q.selected.Page
		columns := devicesColumns()
		if dq.Retired || dq.Measuring || dq.Assigned {
			columns = hiddenColumns()
		}
		return show(q, columns, c.Devices(ctx, dq))
	})
}

// hiddenFlags select devices that have no current state.
func hiddenFlags(cmd *cobra.Command, dq *client.DeviceQuery) {
	flags := cmd.Flags()
	flags.BoolVar(&dq.Retired, "retired", false, "instead, retired devices by id")
	flags.BoolVar(&dq.Measuring, "measuring", false,
		"instead, devices that only sent readings, by id")
	flags.BoolVar(&dq.Assigned, "assigned", false,
		"instead, devices that were assigned and never sent an event, by id")
	cmd.MarkFlagsMutuallyExclusive("retired", "measuring", "assigned")
}

// deviceColumns are the columns of one device. Each time has its age next to it.
func deviceColumns() []command.Column[client.Device] {
	return command.Fields[client.Device]("device").State().Fields("severity").
		Ago("since", "time", "received").Fields("operator", "escalated_to").Ago("incident_since").
		Fields("silent", "message", "attributes")
}

// devicesColumns are the columns of a list of devices. A table has fewer than CSV.
func devicesColumns() []command.Column[client.Device] {
	columns := command.Fields[client.Device]("device").State().Hidden("severity").
		Fields("since").Age("for", "since").Hidden("time", "received")
	columns = append(columns, command.Column[client.Device]{Name: "heard", Cell: heardCell})
	return columns.Fields("operator", "escalated_to").Hidden("incident_since", "silent").
		Fields("message").Hidden("attributes")
}

func hiddenColumns() []command.Column[client.Device] {
	return command.Fields[client.Device]("device", "state", "time", "retired")
}

func heardCell(l command.Looks, d *client.Device) draw.Cell {
	text := l.Ago(d.Received)
	if d.Silent {
		text += ", silent"
	}
	return draw.Cell{Text: text}
}

func queryStates(p *command.Program) *cobra.Command {
	q, cmd := newQuery(p, &cobra.Command{
		Use: "states", Short: "Number of devices in each state now",
		Example: `  andon query states
  andon query states --tenant metro --output json`,
	})
	return q.runs(cmd, func(ctx context.Context, c *client.Client, _ []string) error {
		states, total, err := c.States(ctx)
		if err != nil {
			return err
		}
		if err := show(q, countColumns(), command.Each(states)); err != nil {
			return err
		}
		if q.IsTable() {
			silent := 0
			for _, s := range states {
				silent += s.Silent
			}
			fmt.Fprintf(q, "  %d in all, %d silent\n", total, silent)
		}
		return nil
	})
}

func countColumns() []command.Column[client.StateCount] {
	columns := command.Fields[client.StateCount]("state").
		Hidden("severity", "letter", "colour", "symbol").Fields("count", "silent")
	columns[0].Cell = func(_ command.Looks, s *client.StateCount) draw.Cell {
		return draw.Cell{Text: s.Symbol + " " + draw.Legible(string(s.State)), Colour: s.Colour}
	}
	return columns
}
