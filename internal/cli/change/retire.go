package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Retire is "andon retire".
func Retire(p *command.Program) *cobra.Command {
	t := p.NewTarget()
	var asJSON, purge, yes, dryRun bool
	cmd := &cobra.Command{
		Use:   "retire DEVICE...",
		Short: "Take devices out of the counts and lists",
		Long: `Take devices out of the counts and lists. Their history stays until it expires, and
a later entry brings a device back. One that was never seen or is retired already is named, the
others are retired, and the exit code is 1.

With --purge a device is deleted instead, with its history, readings, escalations and assignments;
a retired one, too. That can't be undone: on a terminal it asks first, elsewhere --yes must say that
it is meant.`,
		Example: `  andon retire press-7
  andon retire press-7 --purge
  andon retire press-7 press-8 --tenant metro`,
	}
	cmd.Flags().SortFlags = false
	t.ServerFlags(cmd)
	t.TenantFlag(cmd)
	cmd.Flags().BoolVar(&purge, "purge", false, "delete the devices with all that they ever sent")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --purge: do not ask")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be done")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, an object a line")
	cmd.RunE = p.Does(func(ctx context.Context, args []string) error {
		devices := make([]andon.DeviceID, len(args))
		for i, text := range args {
			var err error
			if devices[i], err = command.DeviceArg(text); err != nil {
				return err
			}
		}
		if yes && !purge {
			return andon.Errorf(andon.Invalid, "--yes is of use with --purge only")
		}
		return t.Ask(ctx, func(c *client.Client) error {
			each := func(device andon.DeviceID) error { return retire(ctx, p, c, device, asJSON) }
			switch {
			case dryRun:
				each = func(device andon.DeviceID) error {
					return wouldRetire(ctx, p, c, device, purge)
				}
			case purge:
				each = func(device andon.DeviceID) error {
					return purgeDevice(ctx, p, c, device, yes, asJSON)
				}
			}
			return eachDevice(p, devices, each)
		})
	})
	return cmd
}

// wouldRetire says what would become of a device.
func wouldRetire(
	ctx context.Context, p *command.Program, c *client.Client, device andon.DeviceID, purge bool,
) error {
	d, err := c.Device(ctx, device)
	name := draw.Legible(string(device))
	if purge {
		if e, ok := errors.AsType[*client.Error](
			err,
		); err != nil &&
			!(ok && command.IsAboutDevice(e)) {
			return err
		}
		_, err = fmt.Fprintf(p.Stdout, "%s would be deleted with all that it ever sent\n", name)
		return err
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s would be retired, now in state %s\n",
		name, draw.Legible(string(d.State)))
	return err
}

// eachDevice does something to each device. One that is not there does not keep the others from it.
func eachDevice(p *command.Program, devices []andon.DeviceID, do func(andon.DeviceID) error) error {
	missing := 0
	for _, device := range devices {
		err := do(device)
		if e, ok := errors.AsType[*client.Error](
			err,
		); ok && command.IsAboutDevice(e) &&
			len(devices) > 1 {
			missing++
			fmt.Fprintln(p.Stderr, e.Detail)
			continue
		}
		if err != nil {
			return err
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d devices are not there", missing, len(devices))
	}
	return nil
}

func retire(
	ctx context.Context, p *command.Program, c *client.Client, device andon.DeviceID, asJSON bool,
) error {
	at, err := c.Retire(ctx, device)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(p.Stdout).Encode(struct {
			Device  andon.DeviceID `json:"device"`
			Retired andon.Time     `json:"retired"`
		}{device, at})
	}
	_, err = fmt.Fprintf(p.Stdout, "%s is retired from %s on\n", draw.Legible(string(device)), at)
	return err
}

func purgeDevice(
	ctx context.Context,
	p *command.Program,
	c *client.Client,
	device andon.DeviceID,
	yes, asJSON bool,
) error {
	if !yes {
		if err := p.Confirm(ctx, "device", string(device)); err != nil {
			return err
		}
	}
	if err := c.Purge(ctx, device); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(p.Stdout).Encode(struct {
			Device andon.DeviceID `json:"device"`
			Purged bool           `json:"purged"`
		}{device, true})
	}
	_, err := fmt.Fprintf(p.Stdout, "%s is deleted with all that it ever sent\n",
		draw.Legible(string(device)))
	return err
}
