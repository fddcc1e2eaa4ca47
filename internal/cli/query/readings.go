package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

func queryReadings(p *command.Program) *cobra.Command {
	q, cmd := newList(p, &cobra.Command{
		Use: "readings DEVICE", Short: "Readings of a device",
		Example: `  andon query readings press-7 --metrics temperature,humidity
  andon query readings press-7 --from 2025-12-04 --all --metrics temperature --output csv`,
	})
	var names []string
	command.MetricsFlag(cmd, &names)
	q.selectFlags(cmd)
	return q.runsFor(cmd, func(ctx context.Context, c *client.Client, id andon.DeviceID) error {
		q.explainNoReadings(ctx, c, id)
		metrics := command.MetricNames(names)
		readings := c.DeviceReadings(ctx, id, q.selected, metrics...)
		return show(q, command.ReadingColumns(metrics), readings)
	})
}

// maxLatest is how many devices a request for the latest readings may have.
const maxLatest = 1_000

func queryLatest(p *command.Program) *cobra.Command {
	q, cmd := newQuery(p, &cobra.Command{
		Use: "latest DEVICE...", Short: "The newest reading of each device",
		Long: `The newest reading of each device. Devices without readings are named on standard
error; if no device has any, the exit code is 1.`,
		Example: `  andon query latest press-7 press-8
  andon query devices --all --output csv | tail -n +2 | cut -d, -f1 | xargs andon query latest`,
	})
	return q.runs(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		found, missing, err := latest(ctx, c, args)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return andon.Errorf(andon.NotFound, "%s", noReading(missing))
		}
		err = show(q, command.ReadingColumns(nil), command.Each(found))
		if len(missing) > 0 {
			fmt.Fprintln(q.Stderr, noReading(missing))
		}
		return err
	})
}

// noReading names devices without readings, of very many the first.
func noReading(missing []andon.DeviceID) string {
	const most = 5
	text := "no reading of "
	if len(missing) > most {
		text += draw.Grouped(len(missing)) + " devices: "
	}
	return text + command.Few(missing, most)
}

// latest requests the newest readings, maxLatest devices at once.
func latest(
	ctx context.Context, c *client.Client, args []string,
) (found []andon.Reading, missing []andon.DeviceID, err error) {
	for some := range slices.Chunk(args, maxLatest) {
		devices := make([]andon.DeviceID, len(some))
		for i, device := range some {
			devices[i] = andon.DeviceID(device)
		}
		readings, none, err := c.LatestReadings(ctx, devices)
		if err != nil {
			return nil, nil, err
		}
		found, missing = append(found, readings...), append(missing, none...)
	}
	return found, missing, nil
}

func queryMetric(p *command.Program) *cobra.Command {
	q, cmd := newList(p, &cobra.Command{
		Use: "metric METRIC", Short: "One metric across devices",
		Long: `One metric across devices. For each device the newest is first; the order of devices
depends on the store.`,
		Example: `  andon query metric temperature --from 2025-12-04 --to 2025-12-04
  andon query metric temperature --all --output csv > temperature.csv`,
	})
	q.SpanFlags(cmd, &q.selected.From, &q.selected.To)
	return q.runs(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		readings := c.MetricReadings(ctx, andon.MetricName(args[0]), q.selected)
		columns := command.Fields[andon.MetricReading]("device", "time").Age("age", "time")
		return show(q, columns.Fields("value"), readings)
	})
}
