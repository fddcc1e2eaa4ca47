package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

func (p *program) queryDevice() *cobra.Command {
	q, cmd := p.newQuery(question{
		use: "device DEVICE", short: "What a device shows now",
		example: `  andon query device press-7
  andon query device 'd#12345' --output json`,
	})
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		id, err := deviceArg(args[0])
		if err != nil {
			return err
		}
		d, err := c.Device(ctx, id)
		if err != nil {
			return err
		}
		return showOne(q.program, &q.output, deviceColumns(), d)
	})
}

func (p *program) queryDevices() *cobra.Command {
	q, cmd := p.newList(question{
		use: "devices", short: "Devices by what they show now",
		long: `Devices by what they show now, by id unless --sort says otherwise. In the other
orders a device that moves while it is listed may be missed or come twice.`,
		example: `  andon query devices --state 'WARNING*' --sort severity
  andon query devices --operator Liz
  andon query devices --silent --sort since
  andon query devices --device 'press*' --all --output csv`,
	})
	var of client.DeviceQuery
	q.stateFlag(cmd)
	deviceFlags(cmd, &of)
	sort := choiceFlag(cmd, "sort", "device",
		"by id (device), longest in its state first (since), or severest first, then longest",
		"device", "since", "severity")
	return q.asks(cmd, func(ctx context.Context, c *client.Client, _ []string) error {
		of.State, of.Sort, of.Page = q.selected.State, sort.value, q.selected.Page
		return show(q.program, &q.output, devicesColumns(), c.Devices(ctx, of))
	})
}

// deviceFlags select devices, beside --state.
func deviceFlags(cmd *cobra.Command, of *client.DeviceQuery) {
	flags := cmd.Flags()
	flags.StringVar((*string)(&of.Operator), "operator", "", "only devices with this `operator`")
	flags.StringVar((*string)(&of.EscalatedTo), "escalated-to", "",
		"only devices escalated to this `supervisor`")
	flags.Var(&either{&of.Silent}, "silent",
		"only devices that sent nothing for longer than the tenant's silent_after; "+
			"--silent=false: only the others")
	flags.Lookup("silent").NoOptDefVal = "true"
	flags.StringVar(&of.Device, "device", "", "only this `device`, or a prefix: 'press*'")
}

// deviceColumns are all that a device shows.
func deviceColumns() []column[client.Device] {
	type device = client.Device
	return []column[device]{
		textColumn("device", func(d *device) string { return string(d.Device) }),
		stateColumn(func(d *device) andon.State { return d.State }),
		textColumn("severity", func(d *device) string { return strconv.Itoa(int(d.Severity)) }),
		momentColumn("since", func(d *device) andon.Time { return d.Since }),
		momentColumn("time", func(d *device) andon.Time { return d.Time }),
		momentColumn("received", func(d *device) andon.Time { return d.Received }),
		textColumn("operator", func(d *device) string { return string(d.Operator) }),
		textColumn("escalated_to", func(d *device) string { return string(d.EscalatedTo) }),
		momentColumn("incident_since", func(d *device) andon.Time { return d.IncidentSince }),
		textColumn("silent", func(d *device) string { return strconv.FormatBool(d.Silent) }),
		textColumn("message", func(d *device) string { return d.Message }),
		textColumn("attributes", func(d *device) string { return string(d.Attributes) }),
	}
}

// momentColumn is a time with its age, for one item alone.
func momentColumn[T any](name string, at func(*T) andon.Time) column[T] {
	c := timeColumn(name, at)
	c.cell = func(l looks, item *T) cell {
		if at(item) == 0 {
			return cell{}
		}
		return cell{text: clock(at(item)) + "  " + l.ago(at(item))}
	}
	return c
}

// devicesColumns are what a list of devices shows: people get less than programs.
func devicesColumns() []column[client.Device] {
	type device = client.Device
	all := deviceColumns()
	for i := range all {
		switch c := &all[i]; c.name {
		case "device", "state", "operator", "escalated_to", "message":
		case "since":
			c.cell = timeColumn(c.name, func(d *device) andon.Time { return d.Since }).cell
		default:
			c.cell = nil // of all that, people need only when it was heard of, below
		}
	}
	heard := column[device]{name: "heard", cell: func(l looks, d *device) cell {
		text := l.ago(d.Received)
		if d.Silent {
			text += ", silent"
		}
		return cell{text: text}
	}}
	length := ageColumn("for", func(d *device) andon.Time { return d.Since })
	return insertBehind(insertBehind(all, "since", length), "received", heard)
}

// insertBehind puts a column behind the one of that name.
func insertBehind[T any](columns []column[T], name string, c column[T]) []column[T] {
	for i := range columns {
		if columns[i].name == name {
			rest := append([]column[T]{c}, columns[i+1:]...)
			return append(columns[:i+1], rest...)
		}
	}
	return append(columns, c)
}

func (p *program) queryStates() *cobra.Command {
	q, cmd := p.newQuery(question{
		use: "states", short: "How many devices are in each state now",
		example: `  andon query states
  andon query states --tenant metro --output json`,
	})
	return q.asks(cmd, func(ctx context.Context, c *client.Client, _ []string) error {
		states, total, err := c.States(ctx)
		if err != nil {
			return err
		}
		if err := show(q.program, &q.output, countColumns(), each(states)); err != nil {
			return err
		}
		if q.isTable() {
			silent := 0
			for _, s := range states {
				silent += s.Silent
			}
			fmt.Fprintf(q.stdout, "  %d in all, %d silent\n", total, silent)
		}
		return nil
	})
}

func countColumns() []column[client.StateCount] {
	type count = client.StateCount
	return []column[count]{
		{
			name: "state",
			text: func(s *count) string { return string(s.State) },
			cell: func(_ looks, s *count) cell {
				return cell{text: s.Symbol + " " + legible(string(s.State)), colour: s.Colour}
			},
		},
		programColumn("severity", func(s *count) string { return strconv.Itoa(int(s.Severity)) }),
		programColumn("letter", func(s *count) string { return s.Letter }),
		programColumn("colour", func(s *count) string { return s.Colour }),
		programColumn("symbol", func(s *count) string { return s.Symbol }),
		numberColumn("count", func(s *count) int { return s.Count }),
		numberColumn("silent", func(s *count) int { return s.Silent }),
	}
}

func numberColumn[T any](name string, of func(*T) int) column[T] {
	return column[T]{
		name: name,
		text: func(item *T) string { return strconv.Itoa(of(item)) },
		cell: func(_ looks, item *T) cell {
			return cell{text: strconv.Itoa(of(item)), right: true}
		},
	}
}
