package transfer

import (
	"context"
	"hash/fnv"
	"io"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

const (
	defaultBatch = 1000
	lanes        = 4       // requests at once
	batchBytes   = 4 << 20 // a request is closed early at so many bytes: the server takes 16 MB
)

// sender sends the entries of a file group by group: the requests of one group are sent
// concurrently, and accounted for when all of them are answered. The entries of a device are in one
// request of each group, so they arrive in the order of the file. An import can be repeated at any
// time, because the identity of an entry does not depend on when it arrives.
type sender struct {
	*client.Client
	report *report
	tenant andon.TenantID
	batch  int             // most entries of one request
	dryRun bool            // all are taken as accepted
	states *andon.StateSet // of the tenant; nil where no events are sent

	unknown andon.UnknownStates // as the settings of an archive have it
}

// group is what is sent at once: entries of one kind, and what could not be read between them.
type group struct {
	kind   string
	lines  [lanes][]placed // of each request
	bytes  [lanes]int
	events map[andon.EventKey]*andon.Event
	bad    []andon.Rejection
	twice  int // entries that have to be sent after the group, see add
	isFull bool
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
		select {
		case <-ctx.Done():
			return ctx.Err()
		case groups <- g:
			g = &group{}
			return nil
		}
	}
	for e, failed := range entries {
		isIn := failed != nil || g.add(e, s.batch)
		if failed != nil || !isIn || g.isFull {
			if err := next(); err != nil {
				return err
			}
		}
		if failed != nil {
			return andon.Errorf(andon.KindOf(failed), "%s: %w", s.report.File, failed)
		}
		if !isIn {
			g.add(e, s.batch)
		}
	}
	return next()
}

// add is false where an entry has to be sent after the group. Of two lines of one entry with
// different content the server rejects the second one, if they are in one request, and the later
// one has to win.
func (g *group) add(e placed, batch int) bool {
	if e.Bad != nil {
		g.bad = append(g.bad, andon.Rejection{Index: e.Index, Line: e.Line, Error: e.Bad.Error()})
		g.isFull = g.isFull || len(g.bad) >= batch
		return true
	}
	kind, device, bytes := e.Value.about()
	if g.kind != "" && kind != g.kind {
		return false
	}
	if event := e.Value.Event; event != nil {
		key := event.Key(nil)
		if was, twice := g.events[key]; twice && *was != *event {
			g.twice++
			return false
		}
		if g.events == nil {
			g.events = map[andon.EventKey]*andon.Event{}
		}
		g.events[key] = event
	}
	g.kind = kind
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, string(device))
	i := hash.Sum32() % lanes
	g.lines[i], g.bytes[i] = append(g.lines[i], e), g.bytes[i]+bytes
	g.isFull = g.isFull || len(g.lines[i]) >= batch || g.bytes[i] >= batchBytes
	return true
}

func (s *sender) send(ctx context.Context, g *group) error {
	var results [lanes]client.Result
	var errs [lanes]error
	var sent sync.WaitGroup
	for i, lines := range g.lines {
		if len(lines) > 0 {
			sent.Go(func() { results[i], errs[i] = s.request(ctx, g.kind, lines) })
		}
	}
	sent.Wait()
	var failed error
	for i, err := range errs {
		if err == nil {
			s.report.count(g.kind, g.lines[i], results[i])
		} else if failed == nil {
			failed = err
		}
	}
	s.report.Twice += g.twice
	s.report.waiting = append(s.report.waiting, g.bad...)
	s.report.show()
	return failed
}

func (s *sender) request(ctx context.Context, kind string, lines []placed) (client.Result, error) {
	switch {
	case kind == kindSettings || kind == kindEnd:
		return client.Result{}, s.settings(ctx, &lines[0].Value)
	case kind == kindRules && s.dryRun:
		return client.Result{}, nil
	case kind == kindRules: // a line has all rules
		return client.Result{}, s.PutGroupRules(ctx, lines[0].Value.Rules)
	case s.dryRun:
		return client.Result{Accepted: len(lines), UnknownStates: s.outside(lines)}, nil
	case kind == kindEvents:
		return s.AppendEvents(ctx, pick(lines, func(e *entry) *andon.Event { return e.Event }))
	case kind == kindReadings:
		return s.AppendReadings(ctx,
			pick(lines, func(e *entry) *andon.Reading { return e.Reading }))
	case kind == kindProfiles:
		return s.PutProfiles(ctx,
			pick(lines, func(e *entry) *andon.ProfileChange { return e.Profile }))
	case kind == kindAssign:
		return s.AssignMany(ctx,
			pick(lines, func(e *entry) *andon.Assignment { return e.Assign }))
	}
	return s.Restore(ctx, andon.History{
		Assignments: pick(lines, func(e *entry) *andon.Assignment { return e.Assignment }),
		Escalations: pick(lines, func(e *entry) *andon.Escalation { return e.Escalation }),
		Retirements: pick(lines, func(e *entry) *andon.Retirement { return e.Retired }),
	})
}

// outside returns the states of events that are not in the tenant's set.
func (s *sender) outside(lines []placed) (names []andon.State) {
	for i := range lines {
		if e := lines[i].Value.Event; e != nil && s.states != nil && !s.states.Contains(e.State) {
			names = append(names, e.State)
		}
	}
	return names
}

// settings sets the tenant as an archive has it. Until the end of the archive it takes unknown
// states, because its entries may have some.
func (s *sender) settings(ctx context.Context, e *entry) error {
	change := client.TenantChange{UnknownStates: &s.unknown}
	if t := e.Settings; t != nil {
		s.unknown = t.UnknownStates
		change = client.TenantChange{
			Retention: client.RetentionChange{
				Events: &t.Retention.Events, Readings: &t.Retention.Readings,
			},
			MaxFuture: &t.MaxFuture, SilentAfter: &t.SilentAfter, States: t.States,
			LongestShelf:  &t.LongestShelf,
			UnknownStates: new(andon.AcceptUnknown),
		}
	}
	if s.dryRun {
		return nil
	}
	_, err := s.PutTenant(ctx, s.tenant, change)
	return err
}
