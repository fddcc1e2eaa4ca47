package live

import (
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// look asks a server what a board shows: the counts, and the devices that a query selects, the
// worst first, up to rows of them. Unless all are wanted it ends at those that are normal.
func (b *board) look(
	ctx context.Context, c *client.Client, q client.DeviceQuery, rows int, all bool,
) error {
	rows, all = b.wanted(rows), all || b.filter != ""
	states, total, err := c.States(ctx)
	if err != nil {
		return err
	}
	q.Page = max(1, min(rows, andon.MaxLimit))
	var devices []client.Device
	if !b.unsorted {
		q.Sort = "severity"
		devices, err = worst(c.Devices(ctx, q), rows, all)
		b.unsorted = command.IsUnsupported(err) // a store does not learn to while it is open
	}
	if b.unsorted {
		q.Sort = ""
		devices, err = stateByState(ctx, c, q, states, rows, all)
	}
	if err != nil {
		return err
	}
	b.states, b.total, b.devices = states, total, devices
	b.hungry, b.old = false, false
	return nil
}

// worst takes devices from a list that begins with the worst.
func worst(
	list iter.Seq2[client.Device, error], rows int, all bool,
) (devices []client.Device, err error) {
	for d, err := range list {
		if err != nil {
			return nil, err
		}
		if d.Severity == 0 && !all {
			break
		}
		if devices = append(devices, d); len(devices) >= rows {
			break // before the next page is asked for
		}
	}
	return devices, nil
}

// stateByState asks for the devices of one state after the other, from the severest down, where the
// server's store can't sort them. So the worst come first all the same; of one state, by id.
func stateByState(
	ctx context.Context, c *client.Client, q client.DeviceQuery, states []client.StateCount,
	rows int, all bool,
) (devices []client.Device, err error) {
	selected, err := andon.ParseStateFilter(q.State)
	if err != nil {
		return nil, err
	}
	for _, s := range slices.Backward(states) {
		if s.Count == 0 || !selected.Match(s.State) || s.Severity == 0 && !all {
			continue
		}
		q.State = string(s.State)
		in, err := worst(c.Devices(ctx, q), rows-len(devices), true)
		if err != nil {
			return nil, err
		}
		if devices = append(devices, in...); len(devices) >= rows {
			break
		}
	}
	return devices, nil
}
