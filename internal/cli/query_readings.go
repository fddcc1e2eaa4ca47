package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

func (p *program) queryReadings() *cobra.Command {
	q, cmd := p.newList(question{
		use: "readings DEVICE", short: "Readings of a device",
		example: `  andon query readings press-7 --metrics temperature,humidity
  andon query readings press-7 --from 2025-12-04 --all --metrics temperature --output csv`,
	})
	var names []string
	metricsFlag(cmd, &names)
	q.selectFlags(cmd)
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		id, err := deviceArg(args[0])
		if err != nil {
			return err
		}
		metrics, err := metricArgs(names)
		if err != nil {
			return err
		}
		q.readingsOf(ctx, c, id)
		readings := c.DeviceReadings(ctx, id, q.selected, metrics...)
		return show(q.program, &q.output, readingColumns(metrics), readings)
	})
}

func metricsFlag(cmd *cobra.Command, names *[]string) {
	cmd.Flags().StringSliceVar(names, "metrics", nil,
		"only these `names`; in CSV each is a column of its own")
}

func metricArgs(names []string) ([]andon.MetricName, error) {
	var metrics []andon.MetricName
	for _, name := range names {
		m := andon.MetricName(name)
		if err := misnamed("", m.Validate()); err != nil {
			return nil, err
		}
		metrics = append(metrics, m)
	}
	return metrics, nil
}

// readingColumns are those of readings: with metrics named each has one of its own, and else they
// share one.
func readingColumns(metrics []andon.MetricName) []column[andon.Reading] {
	type reading = andon.Reading
	columns := []column[reading]{
		textColumn("device", func(r *reading) string { return string(r.Device) }),
		timeColumn("time", func(r *reading) andon.Time { return r.Time }),
		ageColumn("age", func(r *reading) andon.Time { return r.Time }),
	}
	for _, name := range metrics {
		columns = append(columns, metricColumn(name))
	}
	if len(metrics) == 0 {
		columns = append(columns, column[reading]{
			name: "metrics",
			text: func(r *reading) string { return metricsText(r.Metrics) },
			cell: func(_ looks, r *reading) cell { return cell{text: metricsShown(r.Metrics)} },
		})
	}
	return append(columns,
		programColumn("metadata", func(r *reading) string { return string(r.Metadata) }))
}

func metricColumn(name andon.MetricName) column[andon.Reading] {
	value := func(r *andon.Reading) string {
		if x, ok := r.Metrics.Get(name); ok {
			return numberText(x)
		}
		return ""
	}
	return column[andon.Reading]{
		name: string(name), text: value,
		cell: func(_ looks, r *andon.Reading) cell { return cell{text: value(r), right: true} },
	}
}

// metricsText is the metrics as a JSON object.
func metricsText(m andon.Metrics) string {
	text, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return string(text)
}

func metricsShown(m andon.Metrics) string {
	parts := make([]string, len(m))
	for i, x := range m {
		parts[i] = legible(string(x.Name)) + "=" + numberText(x.Value)
	}
	return strings.Join(parts, "  ")
}

// maxLatest is of how many devices a server gives the newest reading at once.
const maxLatest = 1_000

func (p *program) queryLatest() *cobra.Command {
	q, cmd := p.newQuery(question{
		use: "latest DEVICE...", short: "The newest reading of each device",
		long: `The newest reading of each device. Devices that have none are named on standard
error; if all of them have none, the exit code is 1.`,
		example: `  andon query latest press-7 press-8
  andon query devices --all --output csv | tail -n +2 | cut -d, -f1 | xargs andon query latest`,
	})
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		found, missing, err := latest(ctx, c, args)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return andon.Errorf(andon.NotFound, "%s", noReading(missing))
		}
		err = show(q.program, &q.output, readingColumns(nil), each(found))
		if len(missing) > 0 {
			fmt.Fprintln(q.stderr, noReading(missing))
		}
		return err
	})
}

// noReading names the devices of which there is none, or of very many the first.
func noReading(missing []andon.DeviceID) string {
	const most = 5
	text := "no reading of "
	if len(missing) > most {
		text += grouped(len(missing)) + " devices: "
	}
	return text + few(missing, most)
}

// latest asks for the newest readings, as many at once as the server gives.
func latest(
	ctx context.Context, c *client.Client, args []string,
) (found []andon.Reading, missing []andon.DeviceID, err error) {
	var devices []andon.DeviceID
	for _, text := range args {
		id, err := deviceArg(text)
		if err != nil {
			return nil, nil, err
		}
		devices = append(devices, id)
	}
	for some := range slices.Chunk(devices, maxLatest) {
		readings, none, err := c.LatestReadings(ctx, some)
		if err != nil {
			return nil, nil, err
		}
		found, missing = append(found, readings...), append(missing, none...)
	}
	return found, missing, nil
}

func (p *program) queryMetric() *cobra.Command {
	q, cmd := p.newList(question{
		use: "metric METRIC", short: "One metric across devices",
		long: `One metric across devices. Within a device the newest is first; the order across
devices is the store's own.`,
		example: `  andon query metric temperature --from 2025-12-04 --to 2025-12-04
  andon query metric temperature --all --output csv > temperature.csv`,
	})
	q.spanFlags(cmd, &q.selected.From, &q.selected.To)
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		metrics, err := metricArgs(args)
		if err != nil {
			return err
		}
		readings := c.MetricReadings(ctx, metrics[0], q.selected)
		return show(q.program, &q.output, metricReadingColumns(), readings)
	})
}

func metricReadingColumns() []column[andon.MetricReading] {
	type reading = andon.MetricReading
	return []column[reading]{
		textColumn("device", func(r *reading) string { return string(r.Device) }),
		timeColumn("time", func(r *reading) andon.Time { return r.Time }),
		ageColumn("age", func(r *reading) andon.Time { return r.Time }),
		{
			name: "value",
			text: func(r *reading) string { return numberText(r.Value) },
			cell: func(_ looks, r *reading) cell {
				return cell{text: numberText(r.Value), right: true}
			},
		},
	}
}
