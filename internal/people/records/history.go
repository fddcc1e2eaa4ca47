package records

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/people"
)

const (
	// mostCounted is how many entries of one incident are read for its figures, where they are not
	// those of the history of a device.
	mostCounted = 1000
	// readers is of how many incidents the log is read at once.
	readers = 16
)

// deviceLog is the log of a device as its incidents show it: in runs.
type deviceLog struct {
	*Incidents
	ctx     context.Context
	tenant  *andon.Tenant
	device  andon.DeviceID
	normal  []string     // states of severity 0
	retired []andon.Time // ascending
}

func (in *Incidents) log(
	ctx context.Context, tenant *andon.Tenant, device andon.DeviceID,
) (*deviceLog, error) {
	var normal []string
	for _, d := range tenant.States.Defs() {
		if d.Severity == 0 {
			normal = append(normal, string(d.Name))
		}
	}
	retired, err := in.store.Retirements(ctx, tenant.ID, device)
	return &deviceLog{in, ctx, tenant, device, normal, retired}, err
}

// first returns the first entry in one of some states that a query selects, or none.
func (l *deviceLog) first(states []string, q andon.EventQuery) (e *andon.Event, err error) {
	q.States, err = andon.ParseStateFilter(strings.Join(states, ","))
	if q.Limit = 1; err != nil || len(states) == 0 {
		return nil, err
	}
	for one, err := range l.store.DeviceEvents(l.ctx, l.tenant.ID, l.device, q) {
		if err == nil {
			e = &one
		}
		return e, err
	}
	return nil, nil
}

// ends returns when the run ends that an entry above severity 0 of that time is of; 0: it does not.
func (l *deviceLog) ends(at andon.Time) (end andon.Time, err error) {
	q := andon.EventQuery{Span: andon.Span{From: at + 1}, Order: andon.Asc}
	normal, err := l.first(l.normal, q)
	if normal != nil {
		end = normal.Time
	}
	for _, r := range l.retired {
		if r >= at {
			return andon.Earlier(end, r), err
		}
	}
	return end, err
}

// logged is what runs follow from of an entry.
func logged(e *andon.Event) people.Logged {
	return people.Logged{
		EntryRef: andon.EntryRef{Time: e.Time, State: e.State}, Operator: e.Operator,
	}
}

// runs are those of entries, which come oldest first.
func (l *deviceLog) runs(entries []people.Logged) []people.Run {
	for _, r := range l.retired {
		entries = append(entries, people.Logged{EntryRef: andon.EntryRef{Time: r}})
	}
	slices.SortStableFunc(entries, func(a, b people.Logged) int {
		return cmp.Compare(a.Time, b.Time)
	})
	return people.Runs(entries, l.tenant.States)
}

// run returns the run that an incident is of, as far as the log has it. At most mostCounted of its
// entries are read.
func (l *deviceLog) run(of *people.Incident) (none people.Run, err error) {
	at := of.Entry.Time
	after, err := l.first(l.normal, andon.EventQuery{Span: andon.Span{To: at}})
	if err != nil {
		return none, err
	}
	q := andon.EventQuery{Order: andon.Asc}
	if after != nil {
		q.Span.From, q.After = after.Time, new(after.Key(l.tenant.States))
	}
	for _, r := range l.retired {
		if r < at && r >= q.Span.From {
			q.Span.From, q.After = r+1, nil
		}
	}
	var entries []people.Logged
	for e, err := range andon.Entries(
		l.ctx, l.store, l.tenant.ID, l.tenant.States, l.device, q,
	) {
		if err != nil {
			return none, err
		}
		entries = append(entries, logged(&e))
		if l.tenant.States.Severity(e.State) == 0 || len(entries) == mostCounted {
			break
		}
	}
	read := len(entries)
	for _, r := range l.runs(entries) {
		if q.Span.From == 0 {
			r.Cut = l.tenant.Horizon(l.now()).Events
		}
		if r.Until == 0 && read == mostCounted {
			err = l.finish(&r, of)
		}
		if r.Holds(of) {
			return r, err
		}
	}
	runs, _, _, err := l.latest(andon.Span{From: of.Begun(), To: at}, 2) // one may come after it
	for _, r := range slices.Backward(runs) {
		if r.Holds(of) {
			return r, err
		}
	}
	return none, err
}

// finish adds to the run of an incident what comes after its entries that were read.
func (l *deviceLog) finish(r *people.Run, of *people.Incident) (err error) {
	r.Worst = max(r.Worst, of.Worst)
	r.Until, err = l.ends(max(of.Entry.Time, r.Entry.Time))
	return err
}

// with adds the runs that incidents are of to some, where others than these have their entries.
func (l *deviceLog) with(
	runs []people.Run, all []people.Incident,
) ([]people.Run, error) {
	for i := range all {
		at := all[i].Entry.Time
		if slices.ContainsFunc(runs, func(r people.Run) bool {
			return r.Since <= at && (r.Until == 0 || at < r.Until)
		}) {
			continue
		}
		of, err := l.run(&all[i])
		if err != nil {
			return nil, err
		}
		if of.Count > 0 && !slices.ContainsFunc(runs, func(r people.Run) bool {
			return r.Since == of.Since
		}) {
			runs = append(runs, of)
		}
	}
	slices.SortFunc(runs, func(a, b people.Run) int { return cmp.Compare(a.Since, b.Since) })
	return runs, nil
}

// latest returns the newest runs of the device that have an instant within a span, oldest first;
// from when on all are there that end after least; and when the newest of them ends, unless that
// is 0. Where there are more than n, the older ones are left out.
func (l *deviceLog) latest(
	span andon.Span, n int,
) (all []people.Run, from, to andon.Time, err error) {
	if to = span.To; to != 0 {
		if to, err = l.ends(to); err != nil {
			return nil, 0, 0, err
		}
	}
	q := andon.EventQuery{Span: andon.Span{To: to}}
	var entries []people.Logged
	found, open, whole := 0, false, false
	for e, err := range andon.Entries(
		l.ctx, l.store, l.tenant.ID, l.tenant.States, l.device, q,
	) {
		if err != nil {
			return nil, 0, 0, err
		}
		normal := l.tenant.States.Severity(e.State) == 0
		if normal && open {
			found++
		}
		if normal && len(entries) > 0 && !open { // only the oldest in a row ends a run
			entries = entries[:len(entries)-1]
		}
		entries = append(entries, logged(&e))
		open = !normal
		if whole = !open && (found >= n || e.Time < span.From); whole {
			break
		}
	}
	slices.Reverse(entries)
	all = l.runs(entries)
	if len(all) == 0 {
		return nil, span.From, to, nil
	}
	if !whole {
		all[0].Cut = l.tenant.Horizon(l.now()).Events
	}
	if from = span.From; found >= n {
		from = max(from, all[0].Since)
	}
	return all, from, to, nil
}

// OfDevice returns the newest incidents of a device that were open within a span, newest first, as
// the log has them now: with those that nobody saw, since the entries came late.
func (in *Incidents) OfDevice(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, span andon.Span, limit int,
) (all []people.Incident, err error) {
	return in.ofDevice(ctx, id, device, span, limit, false)
}

// ofDevice is OfDevice; where parts is set, incidents that held within the span and again after it
// are there, too.
func (in *Incidents) ofDevice(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, span andon.Span, limit int,
	parts bool,
) (all []people.Incident, err error) {
	tenant, err := in.store.Tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	l, err := in.log(ctx, &tenant, device)
	if err != nil {
		return nil, err
	}
	kept, err := in.keptOf(ctx, id, device, false)
	if err != nil {
		return nil, err
	}
	reach := span // with the runs of those that people had to do with later
	for _, k := range kept {
		if k.Ended == 0 || k.Ended >= span.From {
			reach.From = min(reach.From, cmp.Or(k.From, k.At))
		}
	}
	runs, from, to, err := l.latest(reach, limit)
	if err != nil {
		return nil, err
	}
	stored, err := in.readKept(ctx, id, kept, andon.Span{From: from, To: to}, limit)
	if err != nil {
		return nil, err
	}
	of := func(state bool) (some []people.Incident) {
		for _, one := range stored {
			if state == (one.Kind == people.StateKind) {
				some = append(some, one)
			}
		}
		return some
	}
	now, seen := in.now(), of(true)
	if runs, err = l.with(runs, seen); err != nil {
		return nil, err
	}
	all = append(of(false),
		people.History(device, runs, seen, tenant.Horizon(now).Events, now)...)
	all = slices.DeleteFunc(all, func(i people.Incident) bool {
		return span.To != 0 && i.Since > span.To && !(parts && i.Before != nil) ||
			i.Ended != 0 && max(i.Ended, i.Until) < span.From
	})
	slices.SortStableFunc(all, func(a, b people.Incident) int {
		return cmp.Or(cmp.Compare(b.Since, a.Since), cmp.Compare(b.ID, a.ID))
	})
	return all[:min(limit, len(all))], nil
}

// kept is where an incident of a device is kept.
type kept struct {
	At    andon.Time `json:"at"`              // of its entry
	From  andon.Time `json:"from,omitempty"`  // Incident.Begun; 0: At
	Ended andon.Time `json:"ended,omitempty"` // 0: it is open
	key   string     // of a closed one
	open  *people.Incident
	kind  bool // of kind state
}

// openOf returns the open incidents of a device as they are stored: all, or that of kind state.
func (in *Incidents) openOf(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, state bool,
) (all []Held, err error) {
	if state {
		h, err := in.Read(ctx, tenant, Place(device, people.StateKind))
		if h == nil || err != nil {
			return nil, err
		}
		return []Held{*h}, nil
	}
	q := andon.RecordQuery{Prefix: deviceHash(device), Limit: math.MaxInt}
	for r, err := range in.store.Records(ctx, tenant, OpenKind, q) {
		if err != nil {
			return nil, err
		}
		is, err := decode(&r)
		if err != nil {
			return nil, err
		}
		all = append(all, Held{is, r.Version})
	}
	return all, nil
}

// keptOf returns where the incidents of a device are kept, those with the newest entries first; the
// open ones all, or that of kind state.
func (in *Incidents) keptOf(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, state bool,
) (all []kept, err error) {
	open, err := in.openOf(ctx, tenant, device, state)
	if err != nil {
		return nil, err
	}
	for _, h := range open {
		if h.Ended == 0 {
			all = append(all, kept{
				At: h.Entry.Time, From: h.Begun(), open: h.Incident,
				kind: h.Kind == people.StateKind,
			})
		}
	}
	prefix, ofState := deviceHash(device)+"/", Place(device, people.StateKind)
	q := andon.RecordQuery{Prefix: prefix, Limit: math.MaxInt}
	for of, err := range in.store.Records(ctx, tenant, ofKind, q) {
		if err != nil {
			return nil, err
		}
		k := kept{key: strings.TrimPrefix(of.ID, prefix), kind: strings.HasSuffix(of.ID, ofState)}
		if err := of.Decode(&k); err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	slices.SortStableFunc(all, func(a, b kept) int { return cmp.Compare(b.At, a.At) })
	return all, nil
}

// readKept reads those whose entries are within a span: all of kind state, and of the others the
// newest.
func (in *Incidents) readKept(
	ctx context.Context, tenant andon.TenantID, some []kept, span andon.Span, others int,
) (all []people.Incident, err error) {
	for _, k := range some {
		if !k.kind {
			others--
		}
		switch {
		case k.At < span.From || span.To != 0 && cmp.Or(k.From, k.At) > span.To ||
			!k.kind && others < 0:
			continue
		case k.open != nil:
			all = append(all, *k.open)
			continue
		}
		r, err := in.store.Record(ctx, tenant, closedKind, k.key)
		if andon.KindOf(err) == andon.NotFound && err != nil {
			continue // it has expired
		}
		if err != nil {
			return nil, err
		}
		is, err := decode(&r)
		if err != nil {
			return nil, err
		}
		all = append(all, *is)
	}
	return all, nil
}

// Follow gives incidents of kind state the figures that the log has now. One that a late entry has
// made part of an earlier one becomes that one. One of which the log knows nothing stays as it is.
func (in *Incidents) Follow(
	ctx context.Context, id andon.TenantID, all []people.Incident,
) error {
	_, err := in.follow(ctx, id, all)
	return err
}

// Resets reports whether the log of the last run of an open incident has a state that asks for a
// reset, perhaps by an entry that came late. It does where that log is damaged: a reset too many
// does no harm.
func (in *Incidents) Resets(
	ctx context.Context, id andon.TenantID, states *andon.StateSet, of *people.Incident,
) (bool, error) {
	var ask []string
	for _, d := range states.Defs() {
		if d.Reset && of.Kind == people.StateKind {
			ask = append(ask, string(d.Name))
		}
	}
	l := deviceLog{Incidents: in, ctx: ctx, tenant: &andon.Tenant{ID: id}, device: of.Device}
	e, err := l.first(ask, andon.EventQuery{Span: andon.Span{From: of.Since, To: of.Until}})
	if err != nil && andon.KindOf(err) == andon.Damaged {
		return true, nil
	}
	return e != nil, err
}

// follow reports, too, which are not true any more.
func (in *Incidents) follow(
	ctx context.Context, id andon.TenantID, all []people.Incident,
) (untrue []bool, err error) {
	tenant, err := in.store.Tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	of, devices := map[andon.DeviceID][]int{}, []andon.DeviceID(nil)
	for i := range all {
		if is := &all[i]; is.Kind == people.StateKind && !is.Late {
			if of[is.Device] == nil {
				devices = append(devices, is.Device)
			}
			of[is.Device] = append(of[is.Device], i)
		}
	}
	untrue = make([]bool, len(all))
	return untrue, parallel.Do(ctx, len(devices), readers, func(ctx context.Context, n int) error {
		l, err := in.log(ctx, &tenant, devices[n])
		if err != nil {
			return err
		}
		kept, err := in.keptOf(ctx, id, devices[n], true)
		for _, i := range of[devices[n]] {
			if err == nil {
				untrue[i], err = l.follow(&all[i], kept)
			}
		}
		return err
	})
}

func (l *deviceLog) follow(is *people.Incident, all []kept) (untrue bool, err error) {
	from := l.tenant.Horizon(l.now()).Events
	r, err := l.run(is)
	if err != nil || r.Count == 0 {
		return is.Ended != 0 && is.Entry.Time >= from, err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(k kept) bool { return !k.kind })
	span := andon.Span{From: r.Since, To: r.Until}
	stored, err := l.readKept(l.ctx, l.tenant.ID, all, span, 0)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(stored, func(i people.Incident) bool { return i.ID == is.ID }) {
		stored = append(stored, *is) // it is being closed
	}
	runs, err := l.with([]people.Run{r}, stored)
	if err != nil {
		return false, err
	}
	id := is.ID
	for _, one := range people.History(l.device, runs, stored, from, l.now()) {
		if one.ID == id || slices.Contains(one.Joined, id) {
			*is = one
		}
	}
	return false, nil
}

// late returns an incident that is found in the log alone, by its ID.
func (in *Incidents) late(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, at andon.Time,
) (*people.Incident, error) {
	all, err := in.OfDevice(ctx, tenant, device, andon.Span{From: at, To: at}, andon.MaxLimit)
	for i := range all {
		is := &all[i]
		if is.Kind == people.StateKind && is.Since <= at && (is.Until == 0 || at < is.Until) {
			return is, nil
		}
	}
	if err == nil {
		err = noIncident(people.LateID(device, at))
	}
	return nil, err
}
