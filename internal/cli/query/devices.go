package query

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

func queryDevice(p *command.Program) *cobra.Command {
	q, cmd := newQuery(p, question{
		use: "device DEVICE", short: "What a device shows now",
		example: `  andon query device press-7
  andon query device 'd#12345' --output json`,
	})
	return q.asksOf(cmd, func(ctx context.Context, c *client.Client, id andon.DeviceID) error {
		d, err := c.Device(ctx, id)
		if err != nil {
			return err
		}
		return command.ShowOne(q.Program, &q.Output, deviceColumns(), d)
	})
}

func queryDevices(p *command.Program) *cobra.Command {
	q, cmd := newList(p, question{
		use: "devices", short: "Devices by what they show now",
		long: `Devices by what they show now, by id unless --sort says otherwise. In the other
orders a device that moves while it is listed may be missed or come twice.`,
		example: `  andon query devices --state 'WARNING*' --sort severity
  andon query devices --operator Liz
  andon query devices --silent --sort since
  andon query devices --device 'press*' --all --output csv
  andon query devices --retired`,
	})
	var of client.DeviceQuery
	q.stateFlag(cmd)
	command.DeviceFlags(cmd, &of)
	hiddenFlags(cmd, &of)
	sort := command.ChoiceFlag(cmd, "sort", "device",
		"by id (device), longest in its state first (since), or severest first, then longest",
		"device", "since", "severity")
	return q.asks(cmd, func(ctx context.Context, c *client.Client, _ []string) error {
		of.State, of.Sort, of.Page = q.selected.State, sort.Value, q.selected.Page
		columns := devicesColumns()
		if of.Retired || of.Measuring || of.Assigned {
			columns = hiddenColumns()
		}
		return show(q, columns, c.Devices(ctx, of))
	})
}

// hiddenFlags ask for devices that show nothing now.
func hiddenFlags(cmd *cobra.Command, of *client.DeviceQuery) {
	flags := cmd.Flags()
	flags.BoolVar(&of.Retired, "retired", false, "devices that are retired instead, by id")
	flags.BoolVar(&of.Measuring, "measuring", false,
		"devices that only ever sent readings instead, by id")
	flags.BoolVar(&of.Assigned, "assigned", false,
		"devices that were assigned and never sent an event instead, by id")
	cmd.MarkFlagsMutuallyExclusive("retired", "measuring", "assigned")
}

// deviceColumns are all that a device shows.
func deviceColumns() []command.Column[client.Device] {
	type device = client.Device
	return []command.Column[device]{
		command.TextColumn("device", func(d *device) string { return string(d.Device) }),
		command.StateColumn(func(d *device) andon.State { return d.State }),
		command.TextColumn("severity",
			func(d *device) string { return strconv.Itoa(int(d.Severity)) }),
		momentColumn("since", func(d *device) andon.Time { return d.Since }),
		momentColumn("time", func(d *device) andon.Time { return d.Time }),
		momentColumn("received", func(d *device) andon.Time { return d.Received }),
		command.TextColumn("operator", func(d *device) string { return string(d.Operator) }),
		command.TextColumn("escalated_to", func(d *device) string { return string(d.EscalatedTo) }),
		momentColumn("incident_since", func(d *device) andon.Time { return d.IncidentSince }),
		command.TextColumn("silent",
			func(d *device) string { return strconv.FormatBool(d.Silent) }),
		command.TextColumn("message", func(d *device) string { return d.Message }),
		command.TextColumn("attributes", func(d *device) string { return string(d.Attributes) }),
	}
}

// momentColumn is a time with its age, for one item alone.
func momentColumn[T any](name string, at func(*T) andon.Time) command.Column[T] {
	c := command.TimeColumn(name, at)
	c.Cell = func(l command.Looks, item *T) draw.Cell {
		if at(item) == 0 {
			return draw.Cell{}
		}
		return draw.Cell{Text: draw.Clock(at(item)) + "  " + l.Ago(at(item))}
	}
	return c
}

// devicesColumns are what a list of devices shows: people get less than programs.
func devicesColumns() (columns []command.Column[client.Device]) {
	type device = client.Device
	for _, c := range deviceColumns() {
		switch c.Name {
		case "device", "state", "operator", "escalated_to", "message":
		case "since":
			since := func(d *device) andon.Time { return d.Since }
			columns = append(columns, command.TimeColumn(c.Name, since))
			c = command.AgeColumn("for", since)
		case "received":
			c.Cell = nil
			columns = append(columns, c)
			c = command.Column[device]{Name: "heard", Cell: heardCell}
		default:
			c.Cell = nil // of all that, people need only when it was heard of
		}
		columns = append(columns, c)
	}
	return columns
}

// hiddenColumns are what there is of devices that show nothing now.
func hiddenColumns() []command.Column[client.Device] {
	type device = client.Device
	return []command.Column[device]{
		command.TextColumn("device", func(d *device) string { return string(d.Device) }),
		command.TextColumn("state", func(d *device) string { return string(d.State) }),
		command.TimeColumn("time", func(d *device) andon.Time { return d.Time }),
		command.TimeColumn("retired", func(d *device) andon.Time { return d.Retired }),
	}
}

// heardCell says when a device was last heard of.
func heardCell(l command.Looks, d *client.Device) draw.Cell {
	text := l.Ago(d.Received)
	if d.Silent {
		text += ", silent"
	}
	return draw.Cell{Text: text}
}

func queryStates(p *command.Program) *cobra.Command {
	q, cmd := newQuery(p, question{
		use: "states", short: "How many devices are in each state now",
		example: `  andon query states
  andon query states --tenant metro --output json`,
	})
	return q.asks(cmd, func(ctx context.Context, c *client.Client, _ []string) error {
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
			fmt.Fprintf(q.Stdout, "  %d in all, %d silent\n", total, silent)
		}
		return nil
	})
}

func countColumns() []command.Column[client.StateCount] {
	type count = client.StateCount
	return []command.Column[count]{
		{
			Name: "state",
			Text: func(s *count) string { return string(s.State) },
			Cell: func(_ command.Looks, s *count) draw.Cell {
				return draw.Cell{
					Text:   s.Symbol + " " + draw.Legible(string(s.State)),
					Colour: s.Colour,
				}
			},
		},
		command.ProgramColumn("severity",
			func(s *count) string { return strconv.Itoa(int(s.Severity)) }),
		command.ProgramColumn("letter", func(s *count) string { return s.Letter }),
		command.ProgramColumn("colour", func(s *count) string { return s.Colour }),
		command.ProgramColumn("symbol", func(s *count) string { return s.Symbol }),
		command.NumberColumn("count", func(s *count) string { return strconv.Itoa(s.Count) }),
		command.NumberColumn("silent", func(s *count) string { return strconv.Itoa(s.Silent) }),
	}
}
