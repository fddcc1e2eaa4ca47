package cassandrastore

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared"
)

// eventRow is a row of the log: an entry, or beside it an escalation or its withdrawal.
type eventRow struct {
	time       int64
	state      string
	at         int64 // 0: an entry; below: when it was withdrawn, negative
	supervisor string

	entry  // of an entry
	record // of an escalation or a withdrawal
}

func (r *eventRow) into() []any {
	return []any{&r.time, &r.state, &r.at, &r.supervisor, &r.entry, &r.record}
}

const eventColumns = "SELECT time, state, at, supervisor, entry, record FROM events_by_device " +
	"WHERE tenant = ? AND device = ? AND day = ? AND shard = ? "

// eventsOrder is oldest first: the clustering the other way round.
const eventsOrder = "ORDER BY time ASC, state DESC, at ASC, supervisor DESC"

var (
	eventsDown  = cql.Ask(eventColumns+"AND time >= ? AND time <= ?", 4)
	eventsUp    = cql.Ask(eventsDown.Text+" "+eventsOrder, 4)
	eventsEntry = cql.Ask(eventColumns+"AND time = ? AND state = ?", 4)
)

// entryOf joins the rows of one entry, in whatever order they are: of two deliveries in two shards
// the later stands. There may be none, where only escalations are left of an expired entry.
func entryOf(device andon.DeviceID, rows []eventRow) (e andon.Entry, ok bool) {
	var stamp int64
	for i := range rows {
		r := &rows[i]
		if r.at == 0 && (!ok || r.Delivery > stamp) {
			ok, stamp = true, r.Delivery
			e.Event = andon.Event{
				Device: device, Time: andon.Time(r.time), State: andon.State(r.state),
				Operator: r.Operator, Message: r.Message,
				Attributes: r.Attributes,
			}
		}
	}
	for i := range rows {
		if r := &rows[i]; r.at > 0 {
			e.Escalations = append(e.Escalations, andon.Escalation{
				Device: device, Time: andon.Time(r.time), State: andon.State(r.state),
				At: andon.Time(r.at), To: andon.PersonID(r.supervisor),
				By: andon.PersonID(r.by), Note: r.note,
			})
		}
	}
	e.Withdrawn = withdrawalOf(device, rows)
	slices.SortFunc(e.Escalations, func(a, b andon.Escalation) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.To, b.To))
	})
	e.Escalations = slices.CompactFunc(e.Escalations, func(a, b andon.Escalation) bool {
		return a.At == b.At && a.To == b.To // in two shards
	})
	if len(e.Escalations) > 0 {
		e.EscalatedTo = e.Escalations[0].To
	}
	return e, ok
}

// note notes the newest escalation of an entry for a caller that collects them, and gives the entry
// the id of its device.
func note(ctx context.Context, e *andon.Entry) {
	e.Device = idOf(e.Device)
	if e.EscalatedTo != "" {
		r := e.Escalations[0]
		r.Device = e.Device
		andon.NoteEscalation(ctx, r)
	}
}

// Entry is of andon.Log.
func (s *Store) Entry(
	ctx context.Context, id andon.TenantID,
	device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	ctx, end := s.within(ctx)
	defer end()
	t, err := s.tenant(ctx, id)
	if err != nil {
		return andon.Entry{}, err
	}
	e, err := s.entry(ctx, t, t.purged.in(device), at, state)
	if err == nil && e == nil {
		err = andon.NoEntry(device, at, state)
	}
	if err != nil {
		return andon.Entry{}, err
	}
	return outside(*e), nil
}

// entry returns nil where there is none.
func (s *Store) entry(
	ctx context.Context, t *tenant, device andon.DeviceID, at andon.Time, state andon.State,
) (*andon.Entry, error) {
	rows, err := s.entryRows(ctx, t, device, at, state)
	if err != nil {
		return nil, err
	}
	e, ok := entryOf(device, rows)
	if !ok {
		return nil, nil
	}
	return &e, s.operators(t, device, andon.Desc).fill(ctx, &e.Event)
}

// entryRows returns the rows of an entry.
func (s *Store) entryRows(
	ctx context.Context, t *tenant, device andon.DeviceID, at andon.Time, state andon.State,
) (rows []eventRow, err error) {
	day := at.Day()
	for u, err := range s.units(ctx, t.Key, ofEvents, string(device), day, day, andon.Desc) {
		if err != nil {
			return nil, err
		}
		for _, shard := range u.shardsOf(at, state) {
			var r eventRow
			args := []any{t.Key, string(device), int(day), shard, int64(at), string(state)}
			err := s.db.Each(ctx, eventsEntry, args, r.into(), func() { rows = append(rows, r) })
			if err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// DeviceEvents is of andon.Log.
func (s *Store) DeviceEvents(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Event) bool) error {
		key := t.purged.in(device)
		all := s.operators(t, key, q.Order).all
		for e, err := range s.walk(ctx, t, key, t.inQuery(q), all) {
			if err != nil {
				return err
			}
			if note(ctx, &e); !yield(e.Event) {
				return nil
			}
		}
		return nil
	})
}

// first returns the time of a device's first entry strictly behind a base; 0 where there is none.
func (s *Store) first(
	ctx context.Context, t *tenant, device andon.DeviceID, base andon.EventKey,
) (andon.Time, error) {
	base.Device = device
	q := andon.EventQuery{
		Order: andon.Asc, Span: andon.Span{From: base.Time}, After: &base, Limit: 1,
	}
	for e, err := range s.walk(ctx, t, device, q, nil) {
		return e.Time, err
	}
	return 0, nil
}

func lastUnit(to andon.Time, of func(andon.Time) uint32) uint32 {
	if to == 0 {
		return 1<<31 - 1
	}
	return of(to)
}

// wanted reports whether an entry is wanted. It may fill it in.
type wanted func(ctx context.Context, e *andon.Entry) (bool, error)

// walk returns the entries of a device that a query selects, that are wanted and were not
// withdrawn; nil wants all, as they stand in the log: the operator is whom an entry names.
func (s *Store) walk(
	ctx context.Context, t *tenant, device andon.DeviceID, q andon.EventQuery,
	want wanted,
) iter.Seq2[andon.Entry, error] {
	return seq.Of(func(yield func(andon.Entry) bool) error {
		span := q.Rest()
		if span.Empty() {
			return nil
		}
		yield = seq.UpTo(q.Limit, yield)
		to := lastUnit(span.To, andon.Time.Day)
		days := s.units(ctx, t.Key, ofEvents, string(device), span.From.Day(), to, q.Order)
		for u, err := range days {
			if err != nil {
				return err
			}
			if !u.mayHave(q.States) {
				continue
			}
			for e, err := range s.day(ctx, t, device, u, span, q) {
				take := err == nil && e.Withdrawn == nil && q.Admits(e.Key(t.Record.States))
				if take && want != nil {
					take, err = want(ctx, &e)
				}
				if err != nil || take && !yield(e) {
					return err
				}
			}
		}
		return nil
	})
}

// day returns the entries of one day of a device in the order of the log.
func (s *Store) day(
	ctx context.Context, t *tenant, device andon.DeviceID, u unit, span andon.Span,
	q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	to := span.To
	if to == 0 {
		to = andon.MaxTime
	}
	ask := eventsDown
	if q.Order == andon.Asc {
		ask = eventsUp
	}
	size := min(max(q.Limit+2, 10), 500)
	var shards []*shared.Rows[eventRow]
	for _, shard := range u.shards {
		args := []any{t.Key, string(device), int(u.number), shard, int64(span.From), int64(to)}
		shards = append(shards, cql.Pages(s.db, ask, args, size, (*eventRow).into))
	}
	at := func(r *eventRow) int64 { return r.time }
	return seq.Of(func(yield func(andon.Entry) bool) error {
		for rows, err := range shared.Instants(ctx, shards, at, q.Order) {
			if err != nil {
				return err
			}
			for _, e := range entriesOf(device, rows, t.Record.States, q.Order) {
				if !yield(e) {
					return nil
				}
			}
		}
		return nil
	})
}

// entriesOf joins the rows of one instant into its entries, in an order.
func entriesOf(
	device andon.DeviceID, rows []eventRow, states *andon.StateSet, o andon.Order,
) (entries []andon.Entry) {
	slices.SortStableFunc(rows, func(a, b eventRow) int { return cmp.Compare(a.state, b.state) })
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].state == rows[0].state {
			n++
		}
		if e, ok := entryOf(device, rows[:n]); ok {
			entries = append(entries, e)
		}
		rows = rows[n:]
	}
	slices.SortFunc(entries, func(a, b andon.Entry) int {
		c := a.Key(states).Compare(b.Key(states))
		if o == andon.Desc {
			return -c
		}
		return c
	})
	return entries
}
