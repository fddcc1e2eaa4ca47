package transfer

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/ingest/table"
)

const (
	defaultBatch = 1000
	lanes        = 4       // requests at once
	batchBytes   = 4 << 20 // a request is closed early at so many bytes: the server takes 16 MB
)

// sender sends the entries of a file group by group: the requests of one group are sent
// concurrently, and accounted for when all of them are answered. The entries of a device are in one
// request of each group, so they arrive in the order of the file, and of two lines of one entry the
// later one wins. An import can be repeated at any time, because the identity of an entry does not
// depend on when it arrives.
type sender struct {
	*client.Client
	report *report
	tenant andon.TenantID
	batch  int  // most entries of one request
	dryRun bool // all are taken as accepted
	// doubt checks what was read for the first group. Its error ends the import before anything is
	// sent. It may be nil.
	doubt func() error

	unknown andon.UnknownStates // as the settings of an archive have it
}

// group is what is sent at once: entries of one kind, and what could not be read between them.
type group struct {
	kind     string
	requests [lanes]request
	bad      []andon.Rejection
	taken    int // lines, also those that others replaced
	isFull   bool
}

// request is the part of a group that is sent in one request.
type request struct {
	lines []line
	bytes int
	byKey map[andon.EventKey]int // index in lines
}

// line is an entry, and the earlier lines of the same identity, which are not sent: a server
// rejects two contents of one entry in a request.
type line struct {
	placed
	earlier   []andon.Rejection // where they are; the reason is set when the entry is rejected
	unchanged int               // how many lines have the content of the line before
}

// run sends all entries. It returns the first error of the file, the server or the context. It does
// not wait for a read that hangs when the context ends.
func (s *sender) run(ctx context.Context, entries placedEntries) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	groups := make(chan *group, 1)
	var failed error
	go func() {
		defer close(groups)
		failed = s.read(ctx, entries, groups)
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case g, more := <-groups:
			if !more {
				return failed
			}
			if err := s.send(ctx, g); err != nil {
				return err
			}
		}
	}
}

// read divides the entries into groups. After an error of the file the entries before it are still
// sent.
func (s *sender) read(ctx context.Context, entries placedEntries, groups chan<- *group) error {
	g := &group{}
	next := func() error {
		if s.doubt != nil {
			if err := s.doubt(); err != nil {
				return err
			}
			s.doubt = nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case groups <- g:
			g = &group{}
			return nil
		}
	}
	for e, err := range entries {
		bad, isOfRow := errors.AsType[*table.RowError](err)
		switch {
		case isOfRow:
			g.bad = append(g.bad, bad.Rejection())
			g.isFull = g.isFull || len(g.bad) >= s.batch
		case err != nil:
			err = andon.Errorf(andon.KindOf(err), "%s: %w", s.report.File, err)
			return errors.Join(err, next())
		case !g.add(e, s.batch):
			if err := next(); err != nil {
				return err
			}
			g.add(e, s.batch)
		}
		if g.isFull {
			if err := next(); err != nil {
				return err
			}
		}
	}
	return next()
}

// add is false where an entry has to be sent after the group.
func (g *group) add(e placed, batch int) bool {
	kind, device, bytes := e.Value.about()
	if g.kind == "" {
		g.kind = kind
	} else if kind != g.kind {
		return false
	}
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, string(device))
	r := &g.requests[hash.Sum32()%lanes]
	if event := e.Value.Event; event != nil {
		key := event.Key(nil)
		if i, twice := r.byKey[key]; twice {
			g.take(batch)
			return r.lines[i].replace(e)
		}
		if r.byKey == nil {
			r.byKey = map[andon.EventKey]int{}
		}
		r.byKey[key] = len(r.lines)
	}
	r.lines, r.bytes = append(r.lines, line{placed: e}), r.bytes+bytes
	g.isFull = g.isFull || len(r.lines) >= batch || r.bytes >= batchBytes
	g.take(batch)
	return true
}

// take bounds the memory of a group whose lines are all of a few entries.
func (g *group) take(batch int) {
	g.taken++
	g.isFull = g.isFull || g.taken >= lanes*batch
}

// replace makes a later line the content of an entry. It is false where the earlier line has an
// escalation, which is a record of its own: then both are sent.
func (l *line) replace(later placed) bool {
	was, is := l.Value.Event, later.Value.Event
	if was.EscalatedTo != "" && was.EscalatedTo != is.EscalatedTo {
		return false
	}
	if *was == *is {
		l.unchanged++
	}
	l.earlier = append(l.earlier, andon.Rejection{Index: l.Index, Line: l.Line})
	l.placed = later
	return true
}

// send sends a group and accounts for it.
func (s *sender) send(ctx context.Context, g *group) error {
	var results [lanes]client.Result
	var errs [lanes]error
	var sent sync.WaitGroup
	for i := range g.requests {
		if lines := g.requests[i].lines; len(lines) > 0 {
			sent.Go(func() { results[i], errs[i] = s.request(ctx, g.kind, lines) })
		}
	}
	sent.Wait()
	var failed error
	for i, err := range errs {
		if err == nil {
			s.report.count(g.kind, g.requests[i].lines, results[i])
		} else if failed == nil {
			failed = err
		}
	}
	s.report.waiting = append(s.report.waiting, g.bad...)
	s.report.show()
	return failed
}

// request sends entries of one kind.
func (s *sender) request(ctx context.Context, kind string, lines []line) (client.Result, error) {
	switch {
	case kind == kindSettings || kind == kindEnd:
		return client.Result{}, s.settings(ctx, &lines[0].Value)
	case s.dryRun:
		return client.Result{Accepted: len(lines)}, nil
	case kind == kindEvents:
		return s.AppendEvents(ctx, pick(lines, func(e *entry) *andon.Event { return e.Event }))
	case kind == kindReadings:
		return s.AppendReadings(ctx,
			pick(lines, func(e *entry) *andon.Reading { return e.Reading }))
	case kind == kindAssign:
		return s.AssignMany(ctx,
			pick(lines, func(e *entry) *client.Assignment { return e.Assign }))
	}
	return s.Restore(ctx, client.History{
		Assignments: pick(lines, func(e *entry) *client.Assignment { return e.Assignment }),
		Escalations: pick(lines, func(e *entry) *client.Escalation { return e.Escalation }),
		Retired:     pick(lines, func(e *entry) *client.Retirement { return e.Retired }),
	})
}

// settings sets the tenant as an archive has it. Until the end of the archive it takes unknown
// states, because its entries may have some.
func (s *sender) settings(ctx context.Context, e *entry) error {
	change := client.TenantChange{UnknownStates: &s.unknown}
	if t := e.Settings; t != nil {
		s.unknown = t.UnknownStates
		change = client.TenantChange{
			EventsRetention: &t.Retention.Events, ReadingsRetention: &t.Retention.Readings,
			MaxFuture: &t.MaxFuture, SilentAfter: &t.SilentAfter, States: t.States,
			UnknownStates: new(andon.AcceptUnknown),
		}
	}
	if s.dryRun {
		return nil
	}
	_, err := s.PutTenant(ctx, s.tenant, change)
	return err
}
