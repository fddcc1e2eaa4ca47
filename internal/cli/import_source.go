package cli

import (
	"context"
	"io"
	"os"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/ingest/table"
)

// source is a file being imported.
type source struct {
	io.Closer
	table    *table.Table
	mapping  table.Mapping
	tenant   andon.TenantID
	batch    int
	progress *progress
}

// openSource opens the file. What can't be right is refused before anything is sent.
func (p *program) openSource(o importOptions) (*source, error) {
	format, err := formatOf(o)
	if err != nil {
		return nil, err
	}
	comma, err := delimiterOf(o.delimiter)
	if err != nil {
		return nil, err
	}
	s := &source{mapping: o.mapping, tenant: andon.TenantID(o.tenant), batch: o.batch}
	if s.mapping.Precision, err = andon.ParsePrecision(o.precision); err != nil {
		return nil, err
	}
	file, size, err := p.openFile(o.file)
	if err != nil {
		return nil, err
	}
	s.Closer = file
	s.progress = newProgress(p.stderr, o.file, size)
	s.table, err = table.Open(s.progress.reader(file), table.Options{
		Format: format, Comma: comma, Comments: o.comments,
	})
	if err != nil {
		s.progress.end()
		file.Close()
		return nil, andon.Errorf(andon.KindOf(err), "%s: %w", o.file, err)
	}
	return s, nil
}

// openFile opens a file and returns its size, 0 where it is not known.
func (p *program) openFile(name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(p.stdin), 0, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, andon.Errorf(andon.Invalid, "open the file: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = andon.Errorf(andon.Invalid, "%s is a directory: name a file in it", name)
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// send sends the file's readings where metrics are named and states are not, else its events.
func (s *source) send(ctx context.Context, c *client.Client, r *report) error {
	if len(s.mapping.Metrics) > 0 && len(s.mapping.State) == 0 {
		return s.sendReadings(ctx, c, r)
	}
	return s.sendEvents(ctx, c, r)
}

func (s *source) sendEvents(ctx context.Context, c *client.Client, r *report) error {
	if len(s.mapping.State) == 0 {
		s.mapping.State = []string{"state"}
	}
	events, err := s.table.Events(s.mapping)
	if err != nil {
		return err
	}
	tenant, err := c.Tenant(ctx, s.tenant)
	if err != nil {
		return err
	}
	r.strange.learn(tenant.States)
	send := func(ctx context.Context, events []andon.Event) (client.Result, error) {
		result, err := c.AppendEvents(ctx, events)
		if err == nil {
			r.strange.add(events, result)
		}
		return result, err
	}
	im := importer[andon.Event]{
		send: send, size: eventSize, batch: s.batch, inFlight: inFlight, report: r,
		sift: siftTwins,
	}
	return im.run(ctx, events)
}

func (s *source) sendReadings(ctx context.Context, c *client.Client, r *report) error {
	readings, err := s.table.Readings(s.mapping)
	if err != nil {
		return err
	}
	im := importer[andon.Reading]{
		send: c.AppendReadings, size: readingSize, batch: s.batch, report: r,
		inFlight: 1, // of two values at one time the later in the file stands
	}
	return im.run(ctx, readings)
}

func eventSize(e *andon.Event) int {
	const fields = 160 // names, quotes, time
	return fields + len(e.Device) + len(e.State) + len(e.Operator) + len(e.EscalatedTo) +
		2*len(e.Message) + len(e.Attributes) // a message may need escapes
}

func readingSize(r *andon.Reading) int {
	const fields, metric = 100, 64
	return fields + len(r.Device) + metric*len(r.Metrics) + len(r.Metadata)
}
