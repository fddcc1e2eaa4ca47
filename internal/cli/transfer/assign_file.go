package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/table"
)

const assignBatch = 10_000 // assignments of one request

func (a *assign) many(ctx context.Context) error {
	format, err := formatOf(a.from)
	if err != nil {
		return err
	}
	file, size, err := openFile(a.Program, a.from.file)
	if err != nil {
		return err
	}
	defer file.Close()
	bar := draw.NewFileBar(a.Stderr, a.from.file, size)
	rows, err := openAssignments(a.from.file, bar.Reader(file), format)
	if err != nil {
		bar.End()
		return err
	}
	r, err := newReport(a.from, bar)
	if err != nil {
		bar.End()
		return err
	}
	a.Attempts = command.AttemptsRunning
	err = a.Ask(ctx, func(c *client.Client) error { return rows.send(ctx, c, r) })
	bar.End()
	return errors.Join(a.finish(r, rows.ended.Load(), err), r.close())
}

func (a *assign) finish(r *report, ended int64, err error) error {
	io.WriteString(a.Stderr, r.hidden())
	accepted, rejected := r.counts()
	outcome := fmt.Sprintf("assigned %d, rejected %d of %s", accepted, rejected, r.file)
	if ended > 0 {
		outcome += fmt.Sprintf(", passed over %d that are over", ended)
	}
	return conclude(a.Program, outcome, accepted > 0, rejected, err)
}

// assignments are the rows of a file that say who is assigned to which device.
type assignments struct {
	table  *table.Table
	format table.Format
	ended  atomic.Int64 // rows passed over, because they were over
}

func openAssignments(name string, r io.Reader, format table.Format) (*assignments, error) {
	t, err := table.Open(r, table.Options{Format: format, Comma: ','})
	if err != nil {
		return nil, andon.Errorf(andon.KindOf(err), "%s: %w", name, err)
	}
	columns := t.Columns()
	for _, need := range []string{"device", "operator"} {
		if len(columns) > 0 && !slices.Contains(columns, need) {
			return nil, andon.Errorf(andon.Invalid, "%s: there is no column %s; there are %s",
				name, need, strings.Join(columns, ", "))
		}
	}
	return &assignments{table: t, format: format}, nil
}

func (as *assignments) send(ctx context.Context, c *client.Client, r *report) error {
	im := importer[client.Assignment]{
		send: c.AssignMany, batch: assignBatch, report: r,
		size: func(a *client.Assignment) int {
			const fields = 40 // names and quotes
			return fields + len(a.Device) + len(a.Operator)
		},
	}
	return im.run(ctx, as.items())
}

func (as *assignments) items() iter.Seq2[ingest.Item[client.Assignment], error] {
	return func(yield func(ingest.Item[client.Assignment], error) bool) {
		for row, err := range as.table.Rows() {
			item := ingest.Item[client.Assignment]{Index: row.Index, Line: row.Line}
			if err == nil {
				if _, over := row.Value("to"); over {
					as.ended.Add(1)
					continue
				}
				item.Value, err = as.assignment(&row)
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// assignment reads a row. What the server would refuse is refused here: it answers a request in
// which nothing is right with an error, and that would end the file.
func (as *assignments) assignment(row *table.Row) (client.Assignment, error) {
	device, _ := row.Value("device")
	operator, there := row.Value("operator")
	a := client.Assignment{Device: andon.DeviceID(device), Operator: andon.PersonID(operator)}
	bad := func(column, reason string) error {
		return &table.RowError{Index: row.Index, Line: row.Line, Column: column, Reason: reason}
	}
	if err := a.Device.Validate(); err != nil {
		return a, bad("device", err.Error())
	}
	cell, _ := row.JSON("operator")
	switch {
	case cell == "null" || as.format == table.CSV: // in CSV an empty cell says no one
	case !there:
		return a, bad("operator", "operator is missing; null unassigns")
	case operator == "":
		return a, bad("operator", "operator is empty: a name assigns, null unassigns")
	}
	if operator != "" {
		if err := a.Operator.ValidateAs("operator"); err != nil {
			return a, bad("operator", err.Error())
		}
	}
	return a, nil
}
