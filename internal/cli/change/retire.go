package change

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

type retirement struct {
	*command.Program
	*command.Target
	form               *command.Choice
	purge, yes, dryRun bool
}

// Retire is "andon retire".
func Retire(p *command.Program) *cobra.Command {
	r := retirement{Program: p}
	cmd := &cobra.Command{
		Use:   "retire DEVICE...",
		Short: "Take devices out of the counts and lists",
		Long: `Take devices out of the counts and lists. Their history stays until it expires, and
a later entry brings a device back. Devices that do not exist or are retired already are reported,
the others are retired, and the exit code is 1.

With --purge a device is deleted instead, with its history, readings, escalations and assignments,
also a retired one. That can't be undone: on a terminal it asks first, elsewhere it needs --yes.`,
		Example: `  andon retire press-7
  andon retire press-7 --purge
  andon retire press-7 press-8 --tenant metro`,
	}
	r.Target = p.NewTarget(cmd)
	cmd.Flags().BoolVar(&r.purge, "purge", false, "delete the devices with all their data")
	cmd.Flags().BoolVar(&r.yes, "yes", false, "with --purge: do not ask")
	cmd.Flags().BoolVar(&r.dryRun, "dry-run", false, "only print what would be done")
	r.form = command.SentenceFlag(cmd, command.FormatText)
	return r.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		if r.yes && !r.purge {
			return andon.Errorf(andon.Invalid, "--yes needs --purge")
		}
		missing := 0
		for _, device := range args {
			err := r.retire(ctx, c, andon.DeviceID(device))
			if e := command.NoDevice(err); e != nil && len(args) > 1 {
				missing++
				fmt.Fprintln(p.Stderr, e.Detail)
			} else if err != nil {
				return err
			}
		}
		if missing > 0 {
			return fmt.Errorf("%d of %d devices do not exist", missing, len(args))
		}
		return nil
	})
}

// retire retires or deletes a device, or prints what it would do.
func (r *retirement) retire(ctx context.Context, c *client.Client, device andon.DeviceID) error {
	name := draw.Legible(string(device))
	switch {
	case r.dryRun:
		return r.rehearse(ctx, c, device)
	case !r.purge:
		at, err := c.Retire(ctx, device)
		if err != nil {
			return err
		}
		return r.Report(r.form, andon.Retirement{Device: device, At: at},
			"%s is retired from %s on", name, at)
	case !r.yes:
		if err := r.Confirm(ctx, string(device), "This deletes device "+name+
			" with all its data, for good."); err != nil {
			return err
		}
	}
	if err := c.Purge(ctx, device); err != nil {
		return err
	}
	return r.Report(r.form, struct {
		Device andon.DeviceID `json:"device"`
		Purged bool           `json:"purged"`
	}{device, true}, "%s is deleted with all its data", name)
}

// rehearse prints what would be done with a device. A retired device can still be deleted.
func (r *retirement) rehearse(ctx context.Context, c *client.Client, device andon.DeviceID) error {
	type plan struct {
		Device andon.DeviceID `json:"device"`
		Would  string         `json:"would"`
	}
	d, err := c.Device(ctx, device)
	name := draw.Legible(string(device))
	switch {
	case r.purge && (err == nil || command.NoDevice(err) != nil):
		return r.Report(r.form, plan{device, "purge"},
			"%s would be deleted with all its data", name)
	case err != nil:
		return err
	}
	return r.Report(r.form, plan{device, "retire"}, "%s would be retired, now in state %s",
		name, draw.Legible(string(d.State)))
}
