package cli

import (
	"bufio"
	"context"
	"encoding/csv"
	"io"
	"os"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/simulate"
)

const (
	round  = andon.Duration(300_000_000) // 5 minutes
	rounds = 288                         // a day
)

// writeLog makes up the last day of the factory and writes it as a CSV file.
func (d *demo) writeLog(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buffered := bufio.NewWriter(f)
	if err := d.writeDay(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func (d *demo) writeDay(w io.Writer) error {
	now := d.now()
	fleet := simulate.New(simulate.Options{
		Seed: d.seed, Devices: d.devices, Start: now - andon.Time(rounds*round), Every: round,
	})
	lines := csv.NewWriter(w)
	lines.Write([]string{
		"device", "time", "state", "operator", "message", "escalated_to", "attributes",
	})
	for range rounds {
		for _, e := range fleet.Round() {
			lines.Write([]string{
				string(e.Device), e.Time.String(), string(e.State), string(e.Operator), e.Message,
				string(e.EscalatedTo), string(e.Attributes),
			})
		}
	}
	lines.Flush()
	return lines.Error()
}

// importLog takes the way that everybody's log takes.
func (d *demo) importLog(ctx context.Context, path, url string) error {
	return d.importFile(ctx, importOptions{
		file: path, url: url, tenant: string(andon.DefaultTenant), batch: defaultBatch,
		mapping: mappingFlags{
			device: "device", time: "time", state: "state", operator: "operator",
			message: "message", escalatedTo: "escalated_to", attributes: "attributes",
		},
	})
}
