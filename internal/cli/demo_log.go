package cli

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/table"
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
		"device", "time", "state", "operator", "message", "escalated_to", "line",
	})
	for range rounds {
		for _, e := range fleet.Round() {
			lines.Write([]string{
				string(e.Device), e.Time.String(), string(e.State), string(e.Operator), e.Message,
				string(e.EscalatedTo), lineOf(e),
			})
		}
	}
	lines.Flush()
	return lines.Error()
}

// lineOf returns the production line of the device that an event is of.
func lineOf(e andon.Event) string {
	var attributes struct{ Line string }
	if err := json.Unmarshal([]byte(e.Attributes), &attributes); err != nil {
		return ""
	}
	return attributes.Line
}

// importLog takes the way that everybody's log takes.
func (d *demo) importLog(ctx context.Context, path, url string) error {
	return d.importFile(ctx, importOptions{
		file: path, url: url, tenant: string(andon.DefaultTenant), batch: defaultBatch,
		delimiter: ",",
		mapping: table.Mapping{
			Device: []string{"device"}, Time: []string{"time"}, State: []string{"state"},
			Operator: []string{"operator"}, Message: []string{"message"},
			EscalatedTo: []string{"escalated_to"}, Attributes: []string{"line"},
		},
	})
}
