package transfer

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/ingest/table"
	"github.com/andonhq/andon/internal/ingest/workbench"
)

// importWorkbench is "andon import workbench".
func importWorkbench(p *command.Program) *cobra.Command {
	im := importer{Program: p, workbench: true}
	cmd := &cobra.Command{
		Use:   "workbench FILE...",
		Short: "Import the device states and readings of NoSQL Workbench models",
		Long: `Import the device states of models of NoSQL Workbench for Amazon DynamoDB, version
1.0 to 3.0: the items of their tables and facets. The items of a table whose keys are deviceId and
timestamp, as the time-series guide has it, become readings: each number is a metric. A file .csv is
sample data, as Workbench imports it: the names of its columns are those of the attributes, and its
values are texts.

An item becomes an entry by the attributes that the DynamoDB guide to device states has: DeviceID,
State#Date, or State and Date instead of it, Operator, EscalatedTo, and Message. All others are kept
with the entry. A date without a zone is UTC. A facet may say by its aliases which key is the
DeviceID and which is State#Date.

It says what a table lacks. An item that is no entry is reported with its table, its number, counted
from 0, and the attribute at fault; the rest is imported, and the exit code is 3. A model may have
up to 64 MiB.`,
		Example: `  andon import workbench DeviceStateLog_7.json
  andon import workbench models/*.json --tenant plant --dry-run
  andon import workbench sample-data.csv`,
	}
	im.Target = p.NewTarget(cmd)
	im.Attempts = command.AttemptsRunning
	im.sendFlags(cmd)
	return p.Does(cmd, im.importFiles)
}

// parseModel reads a model, which is held in memory.
func parseModel(plain io.Reader) (*workbench.Model, error) {
	var text strings.Builder
	n, err := io.Copy(&text, io.LimitReader(plain, workbench.MaxBytes+1))
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "read the file: %w", err)
	}
	if n > workbench.MaxBytes {
		return nil, andon.Errorf(andon.Invalid, "it is longer than %d MiB, the most that a model "+
			"may have\nA log of any size can be imported as CSV or NDJSON: see andon import --help",
			workbench.MaxBytes>>20)
	}
	return workbench.Parse(text.String())
}

// modelEntries returns what could not be read, and then what could. All of it is in memory.
func modelEntries(m *workbench.Model) placedEntries {
	var all []placed
	for _, why := range m.Rejected {
		all = append(all, placed{Index: why.Index, Line: why.Line, Bad: errors.New(why.Error)})
	}
	for i := range m.Items {
		is := &m.Items[i]
		all = append(all, placed{Index: is.Index, Line: is.Line, Value: entry{Event: &is.Value}})
	}
	for i := range m.Readings {
		is := &m.Readings[i]
		all = append(all, placed{Index: is.Index, Value: entry{Reading: &is.Value}})
	}
	return command.Each(all)
}

// sampleEntries reads a file of sample data, row by row.
func sampleEntries(rows *table.Table) (placedEntries, error) {
	columns := rows.Columns
	if err := workbench.CheckColumns(columns); err != nil {
		return nil, err
	}
	return wrapEvents(table.ItemsOf(rows, func(row *table.Row) (andon.Event, error) {
		var item workbench.Item
		for _, name := range columns {
			if text, ok := row.Value(name); ok {
				item.AddText(name, text)
			}
		}
		return item.Event()
	})), nil
}

// exportWorkbench is "andon export workbench".
func exportWorkbench(p *command.Program) *cobra.Command {
	e := &export{Program: p}
	var model string
	cmd := &cobra.Command{
		Use:   "workbench",
		Short: "Export events or readings as a model that NoSQL Workbench opens",
		Long: `Export the events of a tenant as a model of NoSQL Workbench for Amazon DynamoDB,
version 3.0. It has one table, that of the DynamoDB guide to device states: DeviceID and State#Date
are its keys, GSI1 finds by Operator and Date, and GSI2 by EscalatedTo and State#Date. Each event is
an item of it, device by device. An item has EscalatedTo only if its entry was escalated, so GSI2 is
sparse.

With --kind readings the table is that of the time-series guide: deviceId and timestamp are its
keys, each metric is a number of the item, and DeviceLatestGSI and MetricGSI are its indexes.

A facet is an access pattern: the first one has the items, and each index has one. --format csv
writes the items as the sample data that Workbench imports into a table.

With --model all of the design is that of a model that you have, and so are its other tables: only
the items of its log, or of its table of readings, are replaced, and what attributes they need are
declared.

Assignments, notes of escalations and withdrawn entries are not in the model: see andon export
--kind all. The model is made in memory and may have up to 64 MiB. Workbench itself is made for
samples, so take few devices, or a short time.`,
		Example: `  andon export workbench --output model.json
  andon export workbench --device 'press*' --from today > model.json
  andon export workbench --kind readings --device press-7 --format csv > sample.csv
  andon export workbench --model DeviceStateLog_7.json --output DeviceStateLog_8.json`,
	}
	e.flags(cmd, kindEvents, kindReadings)
	e.format = command.ChoiceFlag(cmd, "format", command.FormatJSON,
		"the model, or its items as sample data", command.FormatJSON, command.FormatCSV)
	cmd.Flags().StringVar(&model, "model", "", "`file` of a model whose design is kept")
	return p.Does(cmd, func(ctx context.Context, _ []string) error {
		if err := e.check(); err != nil {
			return err
		}
		var err error
		if e.model, err = e.newModel(model); err != nil {
			return err
		}
		return e.run(ctx)
	})
}

// newModel returns a Writer of the model in a file; without the name of a file, of a new one.
func (e *export) newModel(name string) (w *workbench.Writer, err error) {
	ofReadings := e.kind.Value == kindReadings
	if name == "" {
		model, err := workbench.New(ofReadings, e.Now())
		if err != nil {
			return nil, err
		}
		return model.Refill(ofReadings, e.Now())
	}
	file, _, err := openFile(e.Stdin, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	plain, err := table.PlainText(file)
	if err == nil {
		var model *workbench.Model
		if model, err = parseModel(plain); err == nil {
			w, err = model.Refill(ofReadings, e.Now())
		}
	}
	if err != nil {
		return nil, andon.Errorf(andon.KindOf(err), "%s: %w", name, err)
	}
	return w, nil
}
