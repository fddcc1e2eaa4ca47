package transfer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// all exports to w what was asked for. Where nothing of that is known, that is an error.
func (r *exportRun) all(ctx context.Context, c *client.Client, w *bufio.Writer) error {
	r.bar = r.newBar(ctx, c)
	defer r.bar.End()
	if err := r.allOfKind(ctx, c, w); err != nil {
		return err
	}
	if r.whole == 0 && len(r.unknown) > 0 {
		return andon.Errorf(andon.NotFound, "%s", strings.TrimSuffix(r.unknown.note(), "\n"))
	}
	return nil
}

// newBar shows how far the export is, unless the entries themselves go to a terminal.
func (r *exportRun) newBar(ctx context.Context, c *client.Client) *draw.Bar {
	w := r.Stderr
	if r.file == "" && draw.IsTerminal(r.Stdout) {
		w = io.Discard
	}
	expected := int64(len(r.export.devices))
	if r.export.devices[0] == "*" && draw.IsTerminal(w) {
		if _, total, err := c.States(ctx); err == nil {
			expected = int64(total)
		}
	}
	return draw.NewBar(w, r.kind.Value, expected, func(done, total int64) string {
		return fmt.Sprintf(" %d, %d of %d devices", r.shown.Load(), done, total)
	})
}

func (r *exportRun) allOfKind(ctx context.Context, c *client.Client, w io.Writer) error {
	switch r.kind.Value {
	case kindReadings:
		metrics, err := command.MetricArgs(r.metrics)
		if err != nil {
			return err
		}
		return copyAll(ctx, r, c, w, command.ReadingColumns(metrics), questions[andon.Reading]{
			wanted: func(id andon.DeviceID) iter.Seq2[andon.Reading, error] {
				return c.DeviceReadings(ctx, id, r.wanted(), metrics...)
			},
			any: func(id andon.DeviceID) iter.Seq2[andon.Reading, error] {
				return c.DeviceReadings(ctx, id, anyOne())
			},
		})
	case kindAssignments:
		read := func(id andon.DeviceID) iter.Seq2[client.Assignment, error] {
			return c.Assignments(ctx, id, r.wanted())
		}
		return copyAll(ctx, r, c, w, command.AssignmentColumns(),
			questions[client.Assignment]{wanted: read, any: read})
	case kindEscalations:
		read := func(id andon.DeviceID) iter.Seq2[client.Escalation, error] {
			return command.Records(c.Escalations(ctx, id, r.wanted()), andon.Asc)
		}
		columns := command.Fields[client.Escalation]("device", "time", "state", "to", "at", "by",
			"note")
		return copyAll(ctx, r, c, w, columns,
			questions[client.Escalation]{wanted: read, any: read})
	}
	events := questions[andon.Event]{
		wanted: func(id andon.DeviceID) iter.Seq2[andon.Event, error] {
			return c.DeviceEvents(ctx, id, r.wanted())
		},
		any: func(id andon.DeviceID) iter.Seq2[andon.Event, error] {
			return c.DeviceEvents(ctx, id, anyOne())
		},
	}
	if r.model != nil {
		return copyTo(ctx, r, c, r.model, events)
	}
	return copyAll(ctx, r, c, w, command.EventColumns[andon.Event](), events)
}

// questions are what the server is asked about a device.
type questions[T any] struct {
	wanted func(andon.DeviceID) iter.Seq2[T, error]
	// any is asked where nothing is wanted, to tell a device that has nothing from one that has
	// nothing of those times and metrics.
	any func(andon.DeviceID) iter.Seq2[T, error]
}

func (r *exportRun) wanted() client.Query {
	return client.Query{From: r.from, To: r.to, Order: andon.Asc}
}

func anyOne() client.Query { return client.Query{Page: 1} }

// copyAll writes the items of each device to w.
func copyAll[T any](
	ctx context.Context, r *exportRun, c *client.Client, w io.Writer, columns []command.Column[T],
	ask questions[T],
) error {
	s := command.NewSink(r.format.Value, w, columns, draw.Printer{}, command.Looks{}, r.header)
	return copyTo(ctx, r, c, s, ask)
}

// copyTo puts the items of each device into a sink.
func copyTo[T any](
	ctx context.Context, r *exportRun, c *client.Client, s command.Sink[T], ask questions[T],
) error {
	for at, err := range r.places(ctx, c) {
		if err == nil {
			err = copyDevice(r, s, ask, at)
		}
		if err == nil {
			err = s.End() // so that a device is whole in the file when it is done
		}
		if err == nil && r.done != nil {
			err = r.done(at)
		}
		if err != nil {
			return errors.Join(err, s.End())
		}
	}
	return s.End()
}

// copyDevice writes the items of one device. A device that was named and is not known does not
// count.
func copyDevice[T any](r *exportRun, s command.Sink[T], ask questions[T], at place) error {
	before := r.entries
	for item, err := range ask.wanted(at.Device) {
		if err != nil {
			return err
		}
		if err := s.Put(&item); err != nil {
			return err
		}
		r.entries++
		r.shown.Add(1)
	}
	if r.entries == before && !isPrefix(r.export.devices[at.Selector]) {
		known, err := isAny(ask.any(at.Device))
		if err != nil {
			return err
		}
		if !known {
			r.unknown.add("no " + r.kind.Value + " of " + draw.Legible(string(at.Device)))
			return nil
		}
	}
	r.whole++
	r.bar.Add(1)
	return nil
}

// isAny reports whether there is anything in a list.
func isAny[T any](items iter.Seq2[T, error]) (bool, error) {
	for _, err := range items {
		return err == nil, err
	}
	return false, nil
}

// unknowns are what was asked for by name and is not there, rather a slip of the pen than an
// answer.
type unknowns []string

func (u *unknowns) add(what string) { *u = append(*u, what) }

// note says what it is, a line each.
func (u unknowns) note() string {
	const most = 20
	shown := u[:min(len(u), most)]
	text := strings.Join(shown, "\n") + "\n"
	switch {
	case len(u) == 0:
		return ""
	case len(u) > most:
		return text + "…\n"
	}
	return text
}
