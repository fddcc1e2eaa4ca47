package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// exportRun is an export under way.
type exportRun struct {
	*export
	*client.Client
	bar     *draw.Bar
	shown   atomic.Int64 // entries, read by the bar
	entries int
	whole   int // devices
	unknown unknowns

	// Of an archive:
	lines   *json.Encoder // nil: it is none
	counts  counts
	expired []andon.DeviceID // shown, and none of their entries is kept any more
}

func (r *exportRun) outcome() string {
	if r.counts != nil {
		return "exported " + r.counts.String()
	}
	return "exported " + draw.Count(r.entries, strings.TrimSuffix(r.kind.Value, "s")) + " of " +
		draw.Count(r.whole, "device")
}

// exportAll exports to w what the flags select. Where nothing of that is known, that is an error.
func (r *exportRun) exportAll(ctx context.Context, w io.Writer) error {
	if r.kind.Value == kindAll {
		r.bar = draw.NewBar(io.Discard, "", 0, nil)
		return r.archive(ctx, w)
	}
	r.bar = r.newBar(ctx)
	defer r.bar.End()
	if err := r.copyKind(ctx, r.kind.Value, w); err != nil {
		return err
	}
	if r.whole == 0 && len(r.unknown) > 0 {
		return andon.Errorf(andon.NotFound, "%s", strings.TrimSuffix(r.unknown.note(), "\n"))
	}
	if r.model != nil {
		return r.model.Write(w)
	}
	return nil
}

// newBar shows how far the export is, unless the entries themselves go to a terminal.
func (r *exportRun) newBar(ctx context.Context) *draw.Bar {
	w := r.Stderr
	if r.file == "" && draw.IsTerminal(r.Stdout) {
		w = io.Discard
	}
	expected := int64(len(r.devices))
	if r.devices[0] == "*" && draw.IsTerminal(w) {
		if _, total, err := r.States(ctx); err == nil {
			expected = int64(total)
		}
	}
	return draw.NewBar(w, r.kind.Value, expected, func(done, total int64) string {
		return fmt.Sprintf(" %d, %d of %d devices", r.shown.Load(), done, total)
	})
}

// copyKind exports what the devices have of a kind, oldest first.
func (r *exportRun) copyKind(ctx context.Context, kind string, w io.Writer) error {
	switch kind {
	case kindReadings:
		metrics, err := command.MetricArgs(r.metrics)
		if err != nil {
			return err
		}
		ask := func(
			ctx context.Context, id andon.DeviceID, q client.Query,
		) iter.Seq2[andon.Reading, error] {
			if q == anyOne() {
				return r.DeviceReadings(ctx, id, q)
			}
			return r.DeviceReadings(ctx, id, q, metrics...)
		}
		return copyAll(ctx, r, kind, ask, newSink(r, w, command.ReadingColumns(metrics),
			func(x *andon.Reading) entry { return entry{Reading: x} }))
	case kindAssignments:
		return copyAll(ctx, r, kind, r.Assignments, newSink(r, w, command.AssignmentColumns(),
			func(x *client.Assignment) entry {
				x.To = 0 // the next one says it
				return entry{Assignment: x}
			}))
	case kindEscalations:
		columns := command.Fields[client.Escalation]("device", "time", "state", "to", "at", "by",
			"note")
		return copyAll(ctx, r, kind, r.escalations, newSink(r, w, columns,
			func(x *client.Escalation) entry { return entry{Escalation: x} }))
	case kindRetired:
		return copyAll(ctx, r, kind, r.retirements, newSink(r, w, nil,
			func(x *client.Retirement) entry { return entry{Retired: x} }))
	}
	s := newSink(r, w, command.EventColumns(), func(e *andon.Event) entry {
		e.EscalatedTo = "" // the escalations say it
		return entry{Event: e}
	})
	if r.model != nil {
		s = modelSink{r.model}
	}
	return copyAll(ctx, r, kindEvents, r.DeviceEvents, s)
}

func (r *exportRun) escalations(
	ctx context.Context, id andon.DeviceID, q client.Query,
) iter.Seq2[client.Escalation, error] {
	return command.Records(r.Escalations(ctx, id, q), andon.Asc)
}

// newSink returns the sink of the format, or that of an archive.
func newSink[T any](
	r *exportRun, w io.Writer, columns []command.Column[T], line func(*T) entry,
) command.Sink[T] {
	if r.lines != nil {
		return lineSink[T]{r.lines, line}
	}
	return command.NewSink(r.format.Value, w, columns, draw.Printer{}, command.Looks{})
}

// anyOne is the query after nothing was found, to distinguish a device that has nothing from one
// that has nothing of those times and metrics.
func anyOne() client.Query { return client.Query{Page: 1} }

// ask lists what a device has of a kind.
type ask[T any] func(context.Context, andon.DeviceID, client.Query) iter.Seq2[T, error]

// copyAll puts what each device has of a kind into a sink.
func copyAll[T any](
	ctx context.Context, r *exportRun, kind string, ask ask[T], s command.Sink[T],
) error {
	for at, err := range r.places(ctx, kind) {
		if err == nil {
			err = copyDevice(ctx, r, kind, ask, s, at)
		}
		if err != nil {
			return errors.Join(err, s.End())
		}
	}
	return s.End()
}

// copyDevice writes what one device has. A device that was named and is not known does not count.
func copyDevice[T any](
	ctx context.Context, r *exportRun, kind string, ask ask[T], s command.Sink[T], at spot,
) error {
	before := r.entries
	q := client.Query{From: r.from, To: r.to, Order: andon.Asc}
	for item, err := range ask(ctx, at.Device.Device, q) {
		if err != nil {
			return err
		}
		if err := s.Put(&item); err != nil {
			return err
		}
		r.entries++
		r.shown.Add(1)
	}
	isNone := r.entries == before
	if isNone && at.named {
		known := false
		for _, err := range ask(ctx, at.Device.Device, anyOne()) {
			if err != nil {
				return err
			}
			known = true
			break
		}
		if !known {
			r.unknown.add("no " + kind + " of " + draw.Legible(string(at.Device.Device)))
			return nil
		}
	}
	if isNone && r.lines != nil && kind == kindEvents && at.State != "" && at.Retired == 0 {
		r.expired = append(r.expired, at.Device.Device)
	}
	r.whole++
	r.bar.Add(1)
	return nil
}

// spot is a device to export.
type spot struct {
	client.Device // only its id where it was named
	named         bool
}

// places returns the devices to export, each once: in the order of --device, and those of a prefix
// by id.
func (r *exportRun) places(ctx context.Context, kind string) iter.Seq2[spot, error] {
	return func(yield func(spot, error) bool) {
		taken := map[andon.DeviceID]bool{}
		for _, text := range r.devices {
			found := false
			for d, err := range r.selected(ctx, kind, text) {
				at := spot{d, !isPrefix(text)}
				found = true
				neverRetired := kind == kindRetired && max(d.Retired, d.LastRetired) == 0
				if err == nil && (taken[d.Device] || neverRetired) {
					continue
				}
				if len(r.devices) > 1 {
					taken[d.Device] = true
				}
				if !yield(at, err) || err != nil {
					return
				}
			}
			if !found && text != "*" { // a tenant without devices is no typing error
				r.unknown.add(
					"no device that is listed begins with " + draw.Legible(text[:len(text)-1]))
			}
		}
	}
}

func isPrefix(text string) bool { return text != "" && text[len(text)-1] == '*' }

func (r *exportRun) selected(
	ctx context.Context, kind, text string,
) iter.Seq2[client.Device, error] {
	if isPrefix(text) {
		return devicesWith(ctx, r.Client, kind, text)
	}
	return command.Each([]client.Device{{Device: andon.DeviceID(text)}}) // it need not be listed
}

// unknowns are what was named and is not there, more likely a typing error than an answer.
type unknowns []string

func (u *unknowns) add(what string) { *u = append(*u, what) }

// note says what it is, a line each.
func (u unknowns) note() string {
	const most = 20
	if len(u) > most {
		u = append(u[:most:most], "…")
	}
	return strings.Join(append(u, ""), "\n") // nothing of none
}
