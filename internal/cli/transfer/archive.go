package transfer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// An archive is all that a tenant has, as NDJSON: one member a line, which names what it is. The
// lines stand in the order in which they must be taken back: a retirement before the entries that
// it may be in the middle of, an escalation behind its entry.
type archiveLine struct {
	Andon      string             `json:"andon,omitempty"` // "export", on the first line
	Version    int                `json:"version,omitempty"`
	Tenant     andon.TenantID     `json:"tenant,omitempty"`
	Settings   *client.Tenant     `json:"settings,omitempty"`
	Assignment *client.Assignment `json:"assignment,omitempty"`
	Retired    *client.Retirement `json:"retired,omitempty"`
	Event      *andon.Event       `json:"event,omitempty"`
	Escalation *client.Escalation `json:"escalation,omitempty"`
	Reading    *andon.Reading     `json:"reading,omitempty"`
	// End is on the last line: how many lines of each kind there were.
	End *archived `json:"end,omitempty"`
}

// archived is how much an archive holds.
type archived struct {
	Assignments int `json:"assignments"`
	Retired     int `json:"retired"`
	Events      int `json:"events"`
	Escalations int `json:"escalations"`
	Readings    int `json:"readings"`
}

func (n archived) String() string {
	return fmt.Sprintf("%s, %s, %s, %s, %s", draw.Count(n.Events, "event"),
		draw.Count(n.Readings, "reading"), draw.Count(n.Assignments, "assignment"),
		draw.Count(n.Escalations, "escalation"), draw.Count(n.Retired, "retirement"))
}

const (
	archiveName    = "export"
	archiveVersion = 1
	archiveBegins  = `{"andon":"export"`
)

// archiving is an export of everything under way.
type archiving struct {
	*client.Client
	lines   *json.Encoder
	n       archived
	expired []andon.DeviceID // shown, and none of their entries is kept any more
}

// archive exports all that the tenant has.
func (e *export) archive(ctx context.Context) (err error) {
	out, finish, err := e.archiveTarget()
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	var a archiving
	err = e.Ask(ctx, func(c *client.Client) error {
		a = archiving{Client: c, lines: json.NewEncoder(w)}
		a.lines.SetEscapeHTML(false)
		return a.all(ctx, andon.TenantID(e.Tenant))
	})
	if err = finish(errors.Join(err, w.Flush())); err != nil {
		return err
	}
	if e.file != "" {
		fmt.Fprintf(e.Stdout, "exported %s to %s\n", a.n, e.file)
	}
	if n := len(a.expired); n > 0 {
		return fmt.Errorf("left out: what %s shows, because all entries have expired: %s\n"+
			"All else of tenant %s is in the export",
			draw.Count(n, "device"), command.Few(a.expired, 10), e.Tenant)
	}
	return nil
}

// archiveTarget opens where an archive goes. A file gets its name when it is whole.
func (e *export) archiveTarget() (w io.Writer, finish func(error) error, err error) {
	if e.file == "" {
		return e.Stdout, func(err error) error { return err }, nil
	}
	part, err := os.OpenFile(e.file+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, andon.Errorf(andon.Invalid, "open --file: %w", err)
	}
	return part, func(err error) error {
		if err == nil {
			err = part.Sync()
		}
		if err = errors.Join(err, part.Close()); err != nil {
			return errors.Join(err, os.Remove(part.Name()))
		}
		return os.Rename(part.Name(), e.file)
	}, nil
}

func (a *archiving) all(ctx context.Context, tenant andon.TenantID) error {
	settings, err := a.Tenant(ctx, tenant)
	if err != nil {
		return err
	}
	first := archiveLine{Andon: archiveName, Version: archiveVersion, Tenant: tenant}
	for _, do := range []func() error{
		func() error { return a.lines.Encode(first) },
		func() error { return a.lines.Encode(archiveLine{Settings: &settings}) },
		func() error { return a.each(ctx, kindAssignments, a.assignments) },
		func() error { return a.retirements(ctx) },
		func() error { return a.each(ctx, kindEvents, a.events) },
		func() error { return a.each(ctx, kindEscalations, a.escalations) },
		func() error { return a.each(ctx, kindReadings, a.readings) },
		func() error { return a.lines.Encode(archiveLine{End: &a.n}) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// each exports what do does of each device that has anything of a kind.
func (a *archiving) each(
	ctx context.Context, kind string, do func(context.Context, client.Device) error,
) error {
	for d, err := range devicesWith(ctx, a.Client, kind, "*") {
		if err == nil {
			err = do(ctx, d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeItems exports items of a kind, each as a line, and counts them.
func writeItems[T any](
	a *archiving, items iter.Seq2[T, error], n *int, line func(*T) archiveLine,
) error {
	for item, err := range items {
		if err != nil {
			return err
		}
		*n++
		if err := a.lines.Encode(line(&item)); err != nil {
			return err
		}
	}
	return nil
}

func (a *archiving) assignments(ctx context.Context, d client.Device) error {
	return writeItems(a, a.Assignments(ctx, d.Device, oldestFirst()), &a.n.Assignments,
		func(item *client.Assignment) archiveLine {
			item.To = 0 // that the next one says
			return archiveLine{Assignment: item}
		})
}

func (a *archiving) retirements(ctx context.Context) error {
	return a.each(ctx, kindEvents, func(ctx context.Context, d client.Device) error {
		if max(d.Retired, d.LastRetired) == 0 {
			return nil
		}
		all, err := a.Retirements(ctx, d.Device)
		for _, at := range all {
			a.n.Retired++
			one := client.Retirement{Device: d.Device, Retired: at}
			err = errors.Join(err, a.lines.Encode(archiveLine{Retired: &one}))
		}
		return err
	})
}

// events exports entries without whom they are escalated to, which the records say.
func (a *archiving) events(ctx context.Context, d client.Device) error {
	before := a.n.Events
	err := writeItems(a, a.DeviceEvents(ctx, d.Device, oldestFirst()), &a.n.Events,
		func(e *andon.Event) archiveLine {
			e.EscalatedTo = ""
			return archiveLine{Event: e}
		})
	if err == nil && a.n.Events == before && d.State != "" && d.Retired == 0 {
		a.expired = append(a.expired, d.Device)
	}
	return err
}

func (a *archiving) escalations(ctx context.Context, d client.Device) error {
	return writeItems(a, escalationsOf(ctx, a.Client, d.Device, oldestFirst()), &a.n.Escalations,
		func(e *client.Escalation) archiveLine { return archiveLine{Escalation: e} })
}

func (a *archiving) readings(ctx context.Context, d client.Device) error {
	return writeItems(a, a.DeviceReadings(ctx, d.Device, oldestFirst()), &a.n.Readings,
		func(r *andon.Reading) archiveLine { return archiveLine{Reading: r} })
}

func oldestFirst() client.Query { return client.Query{Order: andon.Asc} }

// escalationsOf returns each record of a device's entries, of an entry the oldest first.
func escalationsOf(
	ctx context.Context, c *client.Client, device andon.DeviceID, q client.Query,
) iter.Seq2[client.Escalation, error] {
	return func(yield func(client.Escalation, error) bool) {
		for e, err := range c.Escalations(ctx, device, q) {
			if err != nil {
				yield(client.Escalation{}, err)
				return
			}
			for i := len(e.Escalations) - 1; i >= 0; i-- {
				one := client.Escalation{
					Device: device, Time: e.Time, State: e.State, Record: e.Escalations[i],
				}
				if !yield(one, nil) {
					return
				}
			}
		}
	}
}

// devicesWith returns the devices that may have something of a kind, by id: those that are shown
// and retired, and those that show nothing and yet have readings or assignments.
func devicesWith(
	ctx context.Context, c *client.Client, kind, prefix string,
) iter.Seq2[client.Device, error] {
	queries := []client.DeviceQuery{{Device: prefix}, {Device: prefix, Retired: true}}
	switch kind {
	case kindReadings:
		queries = append(queries, client.DeviceQuery{Device: prefix, Measuring: true})
	case kindAssignments:
		queries = append(queries, client.DeviceQuery{Device: prefix, Assigned: true})
	}
	return func(yield func(client.Device, error) bool) {
		heads := make([]head, len(queries))
		for i, q := range queries {
			next, stop := iter.Pull2(c.Devices(ctx, q))
			defer stop()
			heads[i].next = next
			heads[i].advance()
		}
		for {
			first := -1
			for i := range heads {
				if h := &heads[i]; h.ok && (first < 0 || h.before(&heads[first])) {
					first = i
				}
			}
			if first < 0 {
				return
			}
			h := heads[first]
			if !yield(h.device, h.err) || h.err != nil {
				return
			}
			heads[first].advance()
		}
	}
}

// head is where a list of devices is.
type head struct {
	next   func() (client.Device, error, bool)
	device client.Device
	err    error
	ok     bool
}

// before reports whether it is h's turn: an error is told at once.
func (h *head) before(o *head) bool {
	return o.err == nil && (h.err != nil || h.device.Device < o.device.Device)
}

func (h *head) advance() { h.device, h.err, h.ok = h.next() }

// isArchive reports whether a file is an archive, by how it begins. Standard input is read again
// from its start.
func isArchive(p *command.Program, name string) bool {
	if name == "-" {
		in := bufio.NewReaderSize(p.Stdin, 64<<10)
		p.Stdin = in
		begins, _ := in.Peek(len(archiveBegins))
		return string(begins) == archiveBegins
	}
	file, err := os.Open(name)
	if err != nil {
		return false // opening it again says why
	}
	defer file.Close()
	begins := make([]byte, len(archiveBegins))
	_, err = io.ReadFull(file, begins)
	return err == nil && bytes.Equal(begins, []byte(archiveBegins))
}

// importArchive takes back what an export of everything took out.
func importArchive(ctx context.Context, p *command.Program, o importOptions) error {
	file, _, err := openFile(p, o.file)
	if err != nil {
		return err
	}
	defer file.Close()
	r := restore{Program: p, name: o.name(), tenant: andon.TenantID(o.Tenant), most: o.batch}
	err = o.Ask(ctx, func(c *client.Client) error {
		r.Client = c
		return r.all(ctx, bufio.NewReaderSize(file, 64<<10))
	})
	outcome := fmt.Sprintf("imported %s, rejected %d of %s", r.n, r.rejected, r.name)
	if err != nil {
		if r.n == (archived{}) {
			return err
		}
		return fmt.Errorf("%s, then it ended: %s", outcome, err)
	}
	fmt.Fprintln(p.Stdout, outcome)
	if r.rejected > 0 {
		return command.ErrRejected
	}
	return nil
}

// restore is an archive while it is taken back: lines of one kind are gathered and sent together.
type restore struct {
	*client.Client
	*command.Program
	name     string
	tenant   andon.TenantID
	most     int // lines of one request
	line     int
	n        archived // taken back
	rejected int
	ended    bool

	gathered archiveLines
}

// archiveLines are lines that wait to be sent, of one kind at a time, and where they stand.
type archiveLines struct {
	history  client.History
	events   []andon.Event
	readings []andon.Reading
	at       []int
	bytes    int
}

func (r *restore) all(ctx context.Context, in *bufio.Reader) error {
	kind := ""
	for {
		text, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			r.line++
			of, lineErr := r.take(ctx, text, &kind)
			if lineErr != nil {
				return fmt.Errorf("%s:%d: %w", r.name, r.line, lineErr)
			}
			if of {
				break
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := r.send(ctx); err != nil {
		return err
	}
	if !r.ended {
		return errors.New("the export is cut off: its last line is missing, so it is not all of " +
			"what there was")
	}
	return nil
}

// take takes a line in, and reports whether it is the last. What was gathered is sent before a line
// of another kind.
func (r *restore) take(ctx context.Context, text []byte, kind *string) (last bool, err error) {
	var line archiveLine
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&line); err != nil {
		return false, andon.Errorf(andon.Invalid, "it is not a line of an export: %w", err)
	}
	of := line.kind()
	g := &r.gathered
	const mostBytes = 8 << 20
	if of != *kind || len(g.at) >= r.most || g.bytes+len(text) > mostBytes {
		if err := r.send(ctx); err != nil {
			return false, err
		}
		*kind = of
	}
	g.at, g.bytes = append(g.at, r.line), g.bytes+len(text)
	switch {
	case line.Event != nil:
		g.events = append(g.events, *line.Event)
	case line.Reading != nil:
		g.readings = append(g.readings, *line.Reading)
	case line.Assignment != nil:
		g.history.Assignments = append(g.history.Assignments, *line.Assignment)
	case line.Escalation != nil:
		g.history.Escalations = append(g.history.Escalations, *line.Escalation)
	case line.Retired != nil:
		g.history.Retired = append(g.history.Retired, *line.Retired)
	default:
		r.gathered = archiveLines{}
		return line.End != nil, r.head(ctx, &line)
	}
	return false, nil
}

// head takes in a line that stands alone: the first, the settings, the last.
func (r *restore) head(ctx context.Context, line *archiveLine) error {
	switch {
	case line.Settings != nil:
		s := line.Settings
		_, err := r.PutTenant(ctx, r.tenant, client.TenantChange{
			EventsRetention: &s.Retention.Events, ReadingsRetention: &s.Retention.Readings,
			MaxFuture: &s.MaxFuture, SilentAfter: &s.SilentAfter, States: s.States,
		})
		return err
	case line.End != nil:
		r.ended = true
	case line.Andon != archiveName || line.Version != archiveVersion:
		return andon.Errorf(andon.Invalid,
			"it is not a line of an export of version %d, which this program knows", archiveVersion)
	}
	return nil
}

func (l *archiveLine) kind() string {
	switch {
	case l.Event != nil:
		return kindEvents
	case l.Reading != nil:
		return kindReadings
	case l.Assignment != nil:
		return kindAssignments
	case l.Escalation != nil:
		return kindEscalations
	case l.Retired != nil:
		return "retired"
	}
	return ""
}

// send sends what was gathered.
func (r *restore) send(ctx context.Context) error {
	g := r.gathered
	r.gathered = archiveLines{}
	if len(g.at) == 0 {
		return nil
	}
	var result client.Result
	var err error
	into := &r.n.Assignments
	switch {
	case len(g.events) > 0:
		into = &r.n.Events
		result, err = r.AppendEvents(ctx, g.events)
	case len(g.readings) > 0:
		into = &r.n.Readings
		result, err = r.AppendReadings(ctx, g.readings)
	default:
		switch {
		case len(g.history.Escalations) > 0:
			into = &r.n.Escalations
		case len(g.history.Retired) > 0:
			into = &r.n.Retired
		}
		result, err = r.Restore(ctx, g.history)
	}
	if err != nil {
		return err
	}
	*into += result.Accepted
	for _, rejected := range result.Rejected {
		const most = 20
		if r.rejected++; r.rejected <= most {
			fmt.Fprintf(r.Stderr, "%s:%d: %s\n", r.name, g.at[rejected.Index],
				strings.TrimSpace(draw.Legible(rejected.Error)))
		}
	}
	return nil
}

// escalationColumns are those of the records of escalations.
func escalationColumns() []command.Column[client.Escalation] {
	type escalation = client.Escalation
	return []command.Column[escalation]{
		command.TextColumn("device", func(e *escalation) string { return string(e.Device) }),
		command.TimeColumn("time", func(e *escalation) andon.Time { return e.Time }),
		command.TextColumn("state", func(e *escalation) string { return string(e.State) }),
		command.TextColumn("to", func(e *escalation) string { return string(e.To) }),
		command.TimeColumn("at", func(e *escalation) andon.Time { return e.At }),
		command.TextColumn("by", func(e *escalation) string { return string(e.By) }),
		command.TextColumn("note", func(e *escalation) string { return e.Note }),
	}
}
