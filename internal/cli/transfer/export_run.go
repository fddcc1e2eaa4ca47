package transfer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/seq"
)

type exportRun struct {
	*export
	*client.Client
	counts  counts
	devices int      // of which something is exported
	isAny   bool     // what was named is there, though maybe with nothing of the span
	missing []string // what was named and is not there, more likely a typing error than an answer

	// Of an archive:
	lines   *json.Encoder    // nil: it is none
	expired []andon.DeviceID // shown, and none of their entries is kept any more
}

func (r *exportRun) outcome() string {
	if r.kind.Value == kindAll {
		return "exported " + r.counts.String()
	}
	return "exported " + draw.Count(r.counts[r.kind.Value], strings.TrimSuffix(r.kind.Value, "s")) +
		" of " + draw.Count(r.devices, "device")
}

func (r *exportRun) note() string {
	const most = 20
	if len(r.missing) > most {
		r.missing = append(r.missing[:most], "…")
	}
	return strings.Join(append(r.missing, ""), "\n") // nothing of none
}

// exportAll exports to w what the flags select. Where nothing of that is known, that is an error.
func (r *exportRun) exportAll(ctx context.Context, w io.Writer) error {
	if r.kind.Value == kindAll {
		return r.archive(ctx, w)
	}
	if err := r.copyKind(ctx, r.kind.Value, w); err != nil {
		return err
	}
	if !r.isAny && len(r.missing) > 0 {
		return andon.Errorf(andon.NotFound, "%s", strings.TrimSuffix(r.note(), "\n"))
	}
	switch {
	case r.model == nil:
		return nil
	case r.format.Value == command.FormatCSV:
		return r.model.WriteSample(w)
	}
	return r.model.Write(w)
}

// copyKind exports what the devices have of a kind, oldest first.
func (r *exportRun) copyKind(ctx context.Context, kind string, w io.Writer) error {
	switch kind {
	case kindReadings:
		metrics := command.MetricNames(r.metrics)
		ask := func(
			ctx context.Context, id andon.DeviceID, q client.Query,
		) iter.Seq2[andon.Reading, error] {
			return r.DeviceReadings(ctx, id, q, metrics...)
		}
		if r.model != nil {
			return copyAll(ctx, r, kind, ask, command.SinkFunc[andon.Reading](r.model.AddReading))
		}
		return copyAll(ctx, r, kind, ask, newSink(r, w, command.ReadingColumns(metrics),
			func(x *andon.Reading) entry { return entry{Reading: x} }))
	case kindAssignments:
		return copyAll(ctx, r, kind, r.Assignments, newSink(r, w, command.AssignmentColumns(),
			func(x *andon.Assignment) entry {
				x.To = 0 // the next one says it
				return entry{Assignment: x}
			}))
	case kindEscalations:
		columns := command.Fields[andon.Escalation]("device", "time", "state", "to", "at", "by",
			"note")
		ask := func(
			ctx context.Context, id andon.DeviceID, q client.Query,
		) iter.Seq2[andon.Escalation, error] {
			return command.Records(r.Escalations(ctx, id, q), andon.Asc)
		}
		return copyAll(ctx, r, kind, ask, newSink(r, w, columns,
			func(x *andon.Escalation) entry { return entry{Escalation: x} }))
	case kindRetired:
		return copyAll(ctx, r, kind, r.retirements, newSink(r, w, nil,
			func(x *andon.Retirement) entry { return entry{Retired: x} }))
	}
	if r.model != nil {
		return copyAll(ctx, r, kindEvents, r.DeviceEvents,
			command.SinkFunc[andon.Event](r.model.Add))
	}
	return copyAll(ctx, r, kindEvents, r.DeviceEvents, newSink(r, w, command.EventColumns(),
		func(e *andon.Event) entry {
			e.EscalatedTo = "" // the escalations say it
			return entry{Event: e}
		}))
}

func newSink[T any](
	r *exportRun, w io.Writer, columns []command.Column[T], line func(*T) entry,
) command.Sink[T] {
	if r.lines != nil {
		return command.SinkFunc[T](func(item *T) error { return r.lines.Encode(line(item)) })
	}
	if r.format.Value == command.FormatCSV { // andon import reads it again
		return command.NewCSVSink(w, columns, func(text string) string { return text })
	}
	return command.NewSink(r.format.Value, w, columns, draw.Printer{}, command.Looks{})
}

type ask[T any] func(context.Context, andon.DeviceID, client.Query) iter.Seq2[T, error]

// copyAll puts what each device has of a kind into a sink. It shows how far it is, unless the
// entries themselves go to a terminal.
func copyAll[T any](
	ctx context.Context, r *exportRun, kind string, ask ask[T], s command.Sink[T],
) error {
	devices, err := r.selected(ctx, kind)
	if err != nil {
		return errors.Join(err, s.End())
	}
	w := r.Stderr
	if r.file == "" && draw.IsTerminal(r.Stdout) {
		w = io.Discard
	}
	bar := draw.NewBar(w, kind, int64(len(devices)), func(done, total int64) string {
		return fmt.Sprintf(" %d of %d devices", done, total)
	})
	defer bar.End()
	for _, d := range devices {
		if err := copyDevice(ctx, r, kind, ask, s, d); err != nil {
			return errors.Join(err, s.End())
		}
		bar.Add(1)
	}
	return s.End()
}

// copyDevice writes what one device has. A device that was named and is not known does not count.
func copyDevice[T any](
	ctx context.Context, r *exportRun, kind string, ask ask[T], s command.Sink[T], d device,
) error {
	before := r.counts[kind]
	for item, err := range ask(ctx, d.id, client.Query{From: r.from, To: r.to, Order: andon.Asc}) {
		if err != nil {
			return err
		}
		if err := s.Put(&item); err != nil {
			return err
		}
		r.counts[kind]++
	}
	isNone := r.counts[kind] == before
	if isNone && d.isNamed { // it may have something of another time
		known, err := seq.Collect(seq.First(1, ask(ctx, d.id, client.Query{Page: 1})))
		if err != nil {
			return err
		}
		if len(known) == 0 {
			r.missing = append(r.missing, "no "+kind+" of "+draw.Legible(string(d.id)))
			return nil
		}
	}
	r.isAny = true
	switch {
	case !isNone:
		r.devices++
	case r.lines != nil && kind == kindEvents && d.isShown:
		r.expired = append(r.expired, d.id)
	}
	return nil
}

type device struct {
	id                           andon.DeviceID
	isNamed, isShown, wasRetired bool
}

// selected returns the devices to export, each once: in the order of --device, and those of a
// prefix by id.
func (r *exportRun) selected(ctx context.Context, kind string) (all []device, err error) {
	taken := map[andon.DeviceID]bool{}
	for _, text := range r.names {
		found := []device{{id: andon.DeviceID(text), isNamed: true}} // it need not be listed
		if prefix, ok := strings.CutSuffix(text, "*"); ok {
			if found, err = r.listed(ctx, kind, text); err != nil {
				return nil, err
			}
			if len(found) == 0 && prefix != "" { // a tenant without devices is no typing error
				r.missing = append(r.missing,
					"no device that is listed begins with "+draw.Legible(prefix))
			}
		}
		for _, d := range found {
			if !taken[d.id] && (kind != kindRetired || d.wasRetired) {
				taken[d.id] = true
				all = append(all, d)
			}
		}
	}
	return all, nil
}

// listed returns the devices that may have something of a kind, by id: those that are shown and
// retired, and those that show nothing and yet have readings or assignments.
func (r *exportRun) listed(ctx context.Context, kind, prefix string) ([]device, error) {
	queries := []client.DeviceQuery{{Device: prefix}, {Device: prefix, Retired: true}}
	switch kind {
	case kindReadings:
		queries = append(queries, client.DeviceQuery{Device: prefix, Measuring: true})
	case kindAssignments:
		queries = append(queries, client.DeviceQuery{Device: prefix, Assigned: true})
	}
	found := map[andon.DeviceID]device{}
	for _, q := range slices.Backward(queries) { // the first ones say most
		for d, err := range r.Devices(ctx, q) {
			if err != nil {
				return nil, err
			}
			found[d.Device] = device{
				id: d.Device, isShown: d.State != "" && d.Retired == 0,
				wasRetired: max(d.Retired, d.LastRetired) != 0,
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b device) int {
		return cmp.Compare(a.id, b.id)
	}), nil
}
