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
	End archived `json:"end,omitempty"`
}

// archiveKinds are the kinds of lines, in their order.
var archiveKinds = []string{
	kindAssignments, kindRetired, kindEvents, kindEscalations, kindReadings,
}

// archived is how much an archive holds of each kind.
type archived map[string]int

func (n archived) String() string {
	return fmt.Sprintf("%s, %s, %s, %s, %s", draw.Count(n[kindEvents], "event"),
		draw.Count(n[kindReadings], "reading"), draw.Count(n[kindAssignments], "assignment"),
		draw.Count(n[kindEscalations], "escalation"), draw.Count(n[kindRetired], "retirement"))
}

const (
	archiveName    = "export"
	kindRetired    = "retired" // a kind of line that can't be exported alone
	archiveVersion = 1
	archiveBegins  = `{"andon":"export"`
)

type archiving struct {
	*client.Client
	lines   *json.Encoder
	n       archived
	expired []andon.DeviceID // shown, and none of their entries is kept any more
}

func (e *export) archive(ctx context.Context) (err error) {
	out, finish, err := e.wholeTarget()
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	var a archiving
	err = e.Ask(ctx, func(c *client.Client) error {
		a = archiving{Client: c, lines: json.NewEncoder(w), n: archived{}}
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

// wholeTarget opens where an archive or a model goes. A file gets its name when it is whole.
func (e *export) wholeTarget() (w io.Writer, finish func(error) error, err error) {
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
	err = errors.Join(
		a.lines.Encode(archiveLine{Andon: archiveName, Version: archiveVersion, Tenant: tenant}),
		a.lines.Encode(archiveLine{Settings: &settings}))
	for _, kind := range archiveKinds {
		if err == nil {
			err = a.kind(ctx, kind)
		}
	}
	if err != nil {
		return err
	}
	return a.lines.Encode(archiveLine{End: a.n})
}

// kind exports the lines of a kind, device by device, and counts them.
func (a *archiving) kind(ctx context.Context, kind string) error {
	a.n[kind] = 0
	for d, err := range devicesWith(ctx, a.Client, kind, "*") {
		if err != nil {
			return err
		}
		before := a.n[kind]
		for line, err := range a.linesOf(ctx, kind, d) {
			if err != nil {
				return err
			}
			a.n[kind]++
			if err := a.lines.Encode(line); err != nil {
				return err
			}
		}
		if kind == kindEvents && a.n[kind] == before && d.State != "" && d.Retired == 0 {
			a.expired = append(a.expired, d.Device)
		}
	}
	return nil
}

// linesOf returns what a device has of a kind, oldest first.
func (a *archiving) linesOf(
	ctx context.Context, kind string, d client.Device,
) iter.Seq2[archiveLine, error] {
	id, q := d.Device, client.Query{Order: andon.Asc}
	switch kind {
	case kindAssignments:
		return asLines(a.Assignments(ctx, id, q), func(x *client.Assignment) archiveLine {
			x.To = 0 // that the next one says
			return archiveLine{Assignment: x}
		})
	case kindRetired:
		return a.retirements(ctx, d)
	case kindEvents:
		return asLines(a.DeviceEvents(ctx, id, q), func(e *andon.Event) archiveLine {
			e.EscalatedTo = "" // that the records say
			return archiveLine{Event: e}
		})
	case kindEscalations:
		return asLines(command.Records(a.Escalations(ctx, id, q), andon.Asc),
			func(e *client.Escalation) archiveLine { return archiveLine{Escalation: e} })
	}
	return asLines(a.DeviceReadings(ctx, id, q),
		func(r *andon.Reading) archiveLine { return archiveLine{Reading: r} })
}

func asLines[T any](
	items iter.Seq2[T, error], line func(*T) archiveLine,
) iter.Seq2[archiveLine, error] {
	return func(yield func(archiveLine, error) bool) {
		for item, err := range items {
			if !yield(line(&item), err) {
				return
			}
		}
	}
}

func (a *archiving) retirements(
	ctx context.Context, d client.Device,
) iter.Seq2[archiveLine, error] {
	if max(d.Retired, d.LastRetired) == 0 {
		return func(func(archiveLine, error) bool) {}
	}
	all, err := a.Retirements(ctx, d.Device)
	return func(yield func(archiveLine, error) bool) {
		if err != nil {
			yield(archiveLine{}, err)
			return
		}
		for _, at := range all {
			one := client.Retirement{Device: d.Device, Retired: at}
			if !yield(archiveLine{Retired: &one}, nil) {
				return
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

// isArchive reports whether a file is an archive, by how it begins.
func isArchive(p *command.Program, name string) bool {
	return bytes.HasPrefix(beginning(p, name), []byte(archiveBegins))
}

// fileBegins is how many bytes tell what a file is.
const fileBegins = 64

// beginning returns the first bytes of a file. Standard input is read again from its start, and is
// not waited for longer than it takes to tell an archive.
func beginning(p *command.Program, name string) []byte {
	if name == "-" {
		in := bufio.NewReaderSize(p.Stdin, 64<<10)
		p.Stdin = in
		_, _ = in.Peek(len(archiveBegins))
		begins, _ := in.Peek(min(in.Buffered(), fileBegins))
		return begins
	}
	file, err := os.Open(name)
	if err != nil {
		return nil // opening it again says why
	}
	defer file.Close()
	begins := make([]byte, fileBegins)
	n, _ := io.ReadFull(file, begins)
	return begins[:n]
}

func importArchive(ctx context.Context, p *command.Program, o importOptions) error {
	file, _, err := openFile(p, o.file)
	if err != nil {
		return err
	}
	defer file.Close()
	r := restore{
		Program: p, name: o.name(), tenant: andon.TenantID(o.Tenant), most: o.batch, n: archived{},
	}
	err = o.Ask(ctx, func(c *client.Client) error {
		r.Client = c
		return r.all(ctx, bufio.NewReaderSize(file, 64<<10))
	})
	outcome := fmt.Sprintf("imported %s, rejected %d of %s", r.n, r.rejected, r.name)
	return conclude(p, outcome, len(r.n) > 0, r.rejected, err)
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
	unknown  andon.UnknownStates // what the settings say of states outside the set

	// The lines that wait to be sent, of one kind at a time, and where they stand.
	kind  string
	lines []archiveLine
	at    []int
	bytes int
}

func (r *restore) all(ctx context.Context, in *bufio.Reader) error {
	for {
		text, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			r.line++
			if err := r.take(ctx, text); err != nil {
				return fmt.Errorf("%s:%d: %w", r.name, r.line, err)
			}
		}
		if r.ended || errors.Is(err, io.EOF) {
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

// take takes a line in. What was gathered is sent before a line of another kind.
func (r *restore) take(ctx context.Context, text []byte) error {
	var line archiveLine
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&line); err != nil {
		return andon.Errorf(andon.Invalid, "it is not a line of an export: %w", err)
	}
	const mostBytes = 8 << 20
	kind := line.kind()
	if kind != r.kind || len(r.at) >= r.most || r.bytes+len(text) > mostBytes {
		if err := r.send(ctx); err != nil {
			return err
		}
		r.kind = kind
	}
	if kind == "" {
		return r.head(ctx, &line)
	}
	r.lines, r.at, r.bytes = append(r.lines, line), append(r.at, r.line), r.bytes+len(text)
	return nil
}

// head takes in a line that stands alone: the first, the settings, the last.
func (r *restore) head(ctx context.Context, line *archiveLine) error {
	switch {
	case line.Settings != nil:
		s := line.Settings
		_, err := r.PutTenant(ctx, r.tenant, client.TenantChange{
			EventsRetention: &s.Retention.Events, ReadingsRetention: &s.Retention.Readings,
			MaxFuture: &s.MaxFuture, SilentAfter: &s.SilentAfter, States: s.States,
			UnknownStates: new(andon.AcceptUnknown), // until all entries are back
		})
		r.unknown = s.UnknownStates
		return err
	case line.End != nil:
		r.ended = true
		_, err := r.PutTenant(ctx, r.tenant, client.TenantChange{UnknownStates: &r.unknown})
		return err
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
		return kindRetired
	}
	return ""
}

func (r *restore) send(ctx context.Context) (err error) {
	lines, at := r.lines, r.at
	r.lines, r.at, r.bytes = nil, nil, 0
	if len(at) == 0 {
		return nil
	}
	type line = archiveLine
	var result client.Result
	switch r.kind {
	case kindEvents:
		events := each(lines, func(l *line) *andon.Event { return l.Event })
		result, err = r.AppendEvents(ctx, events)
	case kindReadings:
		readings := each(lines, func(l *line) *andon.Reading { return l.Reading })
		result, err = r.AppendReadings(ctx, readings)
	default:
		result, err = r.Restore(ctx, client.History{
			Assignments: each(lines, func(l *line) *client.Assignment { return l.Assignment }),
			Escalations: each(lines, func(l *line) *client.Escalation { return l.Escalation }),
			Retired:     each(lines, func(l *line) *client.Retirement { return l.Retired }),
		})
	}
	if err != nil {
		return err
	}
	if result.Accepted > 0 {
		r.n[r.kind] += result.Accepted
	}
	for _, rejected := range result.Rejected {
		const most = 20
		if r.rejected++; r.rejected <= most {
			fmt.Fprintf(r.Stderr, "%s:%d: %s\n", r.name, at[rejected.Index],
				strings.TrimSpace(draw.Legible(rejected.Error)))
		}
	}
	return nil
}

// each returns what of finds in lines.
func each[T any](lines []archiveLine, of func(*archiveLine) *T) (found []T) {
	for i := range lines {
		if item := of(&lines[i]); item != nil {
			found = append(found, *item)
		}
	}
	return found
}
