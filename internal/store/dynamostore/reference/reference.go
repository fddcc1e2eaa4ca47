package reference

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
)

// Store is a store on a table that was created from the model of "Monitoring device status
// updates in DynamoDB": layout reference. The table stays what it is, so its other users go on.
//
//	DeviceID  State#Date                    Date                 State     Operator  EscalatedTo
//	d#11223   WARNING4#2020-04-27T16:15:00  2020-04-27T16:15:00  WARNING4  Sue       Sara
//
// GSI1 is (Operator, Date), GSI2 is (EscalatedTo, State#Date). There is one tenant, and nothing is
// escaped. A time has no zone, which means UTC, and no zeros at the end of a fraction. An entry is
// written by UpdateItem of the device's own attributes, since a Put would undo its escalation.
//
// The states that a device has are found by skipping: one read for each, after the last one found.
// What a device shows is computed from its entries. What would need a scan, or items that the model
// does not have, is not served (unserved).
type Store struct{ *base }

// Table returns the table of the layout reference. Its items expire unless they are kept forever.
func Table(name string, kept andon.Retention) ddb.Table {
	t := items.AndonTables()[0]
	t.Name = name
	if kept == andon.Forever {
		t.TTL = ""
	}
	t.What = "The log as the reference's model has it: an item for each entry."
	return t
}

// New returns the store of a table. own serves what concerns no entries, as the other layout does.
func New(db *ddb.Client, o Options, own andon.Store) andon.Store {
	return &Store{newBase(db, o, own, Table(o.Table, o.Retention), false,
		func(i ddb.Item) (andon.Time, bool) {
			ref, ok := refOf(i.Text(items.AttrStateDate))
			return ref.Time, ok
		})}
}

// Capabilities implements andon.Store.
func (r *Store) Capabilities() andon.Capabilities {
	return andon.Capabilities{Name: "dynamodb, layout reference", Durable: true, Explain: true,
		Consistency: true, SlowExpiry: r.Retention != andon.Forever}
}

func timeText(t andon.Time) string {
	return t.Std().UTC().Format("2006-01-02T15:04:05.999999")
}

// SortKey returns the sort key of an entry.
func SortKey(state andon.State, at andon.Time) string {
	return string(state) + "#" + timeText(at)
}

// refOf reads a sort key; not ok: it is of no entry. The date has no #, and a state may have one.
func refOf(key string) (_ andon.EntryRef, ok bool) {
	n := strings.LastIndexByte(key, '#')
	at, err := andon.ParseTime(key[n+1:])
	if n < 1 || err != nil {
		return andon.EntryRef{}, false
	}
	return andon.EntryRef{Time: at, State: andon.State(key[:n])}, true
}

func readEvent(i ddb.Item) (e items.Event, ok bool, err error) {
	ref, ok := refOf(i.Text(items.AttrStateDate))
	return items.Event{Event: andon.Event{
		Device: andon.DeviceID(i.Text(items.AttrDevice)), Time: ref.Time, State: ref.State,
		Operator: andon.PersonID(i.Text(items.AttrOperator)), Message: i.Text(items.AttrMessage),
		Attributes:  andon.JSON(i.Text(items.AttrAttributes)),
		EscalatedTo: andon.PersonID(i.Text(items.AttrEscalated)),
	}}, ok, nil
}

// inState bounds a query to a state in a span. Z sorts after all digits of a fraction.
func inState(q ddb.Query, state andon.State, span andon.Span) ddb.Query {
	q.From, q.To = SortKey(state, span.From), string(state)+"#Z"
	if span.To != 0 {
		q.To = SortKey(state, span.To) + "Z"
	}
	return q
}

// ofDevice returns the query for the entries of a device, ofSupervisor for those that are
// escalated.
func (r *Store) ofDevice(id andon.DeviceID) ddb.Query {
	return ddb.Query{Table: r.Table, Key: items.LogKeys(), Partition: string(id)}
}

func (r *Store) ofSupervisor(id andon.PersonID) ddb.Query {
	return ddb.Query{Table: r.Table, Index: items.IndexSupervisor,
		Key: ddb.Keys{Hash: items.AttrEscalated, Sort: items.AttrStateDate}, Partition: string(id)}
}

// states finds the states of a partition that a filter admits. Names need no read.
func (r *Store) states(
	ctx context.Context, q ddb.Query, f andon.StateFilter,
) (all []andon.State, err error) {
	if f.Prefix() == "" && len(f.Names()) > 0 {
		return f.Names(), nil
	}
	q.Order, q.Page, q.From = andon.Asc, 1, f.Prefix()
	for {
		found, _, err := r.db.Page(ctx, q, nil)
		if err != nil || len(found) == 0 {
			return all, err
		}
		key := found[0].Text(items.AttrStateDate)
		if !strings.HasPrefix(key, f.Prefix()) {
			return all, nil
		}
		ref, ok := refOf(key)
		if !ok {
			q.From = key + "\x00" // the next key
			continue
		}
		if f.Match(ref.State) {
			all = append(all, ref.State)
		}
		q.From = string(ref.State) + "#:" // after all dates: they begin with a digit
	}
}

// inOrder returns the entries of a partition that a query selects, in its order.
func (r *Store) inOrder(
	ctx context.Context, ask ddb.Query, q andon.EventQuery,
) iter.Seq2[items.Event, error] {
	return seq.Of(func(yield func(items.Event) bool) error {
		states, err := r.states(ctx, ask, q.States)
		if err != nil || q.Span.Empty() {
			return err
		}
		return seq.Yield(r.inStates(ctx, ask, q, states...), yield)
	})
}

// inStates returns the entries of a partition in some states. The range of a state includes those
// of another whose name continues with # and a digit; they are left out.
func (r *Store) inStates(
	ctx context.Context, ask ddb.Query, q andon.EventQuery, states ...andon.State,
) iter.Seq2[items.Event, error] {
	var rows []*shared.Rows[items.Event]
	for _, state := range states {
		one := inState(ask, state, q.Rest())
		one.Order, one.Page = q.Order, items.PageOf(q.Limit, len(states))
		rows = append(rows, ddb.Rows(r.db, one, func(i ddb.Item) (items.Event, bool, error) {
			e, ok, err := readEvent(i)
			return e, ok && e.State == state, err
		}))
	}
	return items.Merged(ctx, r.tenant, q, rows)
}

// events returns the first entries of a list, up to a limit. byIndex says what an index found: it
// is refused where the answer must be strong.
func (r *Store) events(
	ctx context.Context, id andon.TenantID, limit int, found iter.Seq2[items.Event, error],
	byIndex ...string,
) iter.Seq2[andon.Event, error] {
	return seq.Of(func(yield func(andon.Event) bool) error {
		err := r.checkTenant(ctx, id)
		if err == nil && len(byIndex) > 0 {
			err = ddb.ByIndex(ctx, byIndex[0])
		}
		if err != nil {
			return err
		}
		events := seq.Map(found, func(e items.Event) andon.Event { return e.Event })
		return seq.Yield(seq.First(limit, events), yield)
	})
}

// DeviceEvents implements andon.Log.
func (r *Store) DeviceEvents(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	ctx = ddb.ForAnswer(ctx, r.Eventual)
	return r.events(ctx, id, q.Limit, r.inOrder(ctx, r.ofDevice(device), q))
}

// OperatorEvents implements andon.Log: GSI1 has them by time. A filter of states reads all states.
func (r *Store) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	span := q.Rest()
	ask := ddb.Query{
		Table: r.Table, Index: items.IndexOperator,
		Key:       ddb.Keys{Hash: items.AttrOperator, Sort: items.AttrDate},
		Partition: string(operator), From: timeText(span.From),
	}
	if span.To != 0 {
		ask.To = timeText(span.To) + "Z"
	}
	found := items.Found(ctx, r.db, r.tenant, q, []ddb.Query{ask}, readEvent)
	return r.events(ctx, id, q.Limit, found, "the entries of an operator")
}

// SupervisorEvents implements andon.Log.
func (r *Store) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	found := r.inOrder(ctx, r.ofSupervisor(supervisor), q)
	return r.events(ctx, id, q.Limit, found, "the entries of a supervisor")
}

// EscalatedEntries implements andon.Log. It reads all entries of the device in the span.
func (r *Store) EscalatedEntries(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	ctx = ddb.ForAnswer(ctx, r.Eventual)
	all := q
	all.Limit = ddb.MaxPage
	found := r.events(ctx, id, math.MaxInt, r.inOrder(ctx, r.ofDevice(device), all))
	return seq.Of(func(yield func(andon.Entry) bool) error {
		yield = seq.UpTo(q.Limit, yield)
		for e, err := range found {
			if err != nil {
				return err
			}
			if e.EscalatedTo != "" && !yield(entryOf(e)) {
				return nil
			}
		}
		return nil
	})
}

// entryOf returns an entry with its escalation. The model does not say when that was.
func entryOf(e andon.Event) andon.Entry {
	entry := andon.Entry{Event: e}
	if e.EscalatedTo != "" {
		entry.Escalations = []andon.Escalation{{
			Device: e.Device, Time: e.Time, State: e.State, At: e.Time, To: e.EscalatedTo,
		}}
	}
	return entry
}

// find returns the item of an entry. Its time may be written otherwise than Andon writes it.
func (r *Store) find(
	ctx context.Context, device andon.DeviceID, at andon.Time, state andon.State,
) (ddb.Item, error) {
	key := items.LogKeys().Item(string(device), SortKey(state, at))
	i, err := r.db.Get(ctx, r.Table, key)
	if i != nil || err != nil {
		return i, err
	}
	ask := inState(r.ofDevice(device), state, andon.Span{From: at, To: at})
	for i, err := range r.db.Items(ctx, ask) {
		if err != nil {
			return nil, err
		}
		if ref, ok := refOf(i.Text(items.AttrStateDate)); ok && ref.Time == at {
			return i, nil
		}
	}
	return nil, andon.NoEntry(device, at, state)
}

// Entry implements andon.Log.
func (r *Store) Entry(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	if err := r.checkTenant(ctx, id); err != nil {
		return andon.Entry{}, err
	}
	i, err := r.find(ddb.ForAnswer(ctx, r.Eventual), device, at, state)
	if err != nil {
		return andon.Entry{}, err
	}
	e, _, err := readEvent(i)
	return entryOf(e.Event), err
}

// Append implements andon.Log. Each event is an UpdateItem of its own.
func (r *Store) Append(
	ctx context.Context, id andon.TenantID, _ andon.Time, events []andon.Event,
) error {
	if err := r.checkTenant(ctx, id); err != nil {
		return err
	}
	return shared.Parallel(ctx, len(events), func(ctx context.Context, n int) error {
		e := &events[n]
		key, u := Event(e, r.Retention)
		err := r.db.Update(ctx, r.Table, key, u, "")
		if andon.KindOf(err) == andon.Invalid {
			err = fmt.Errorf("entry of device %q in %s at %s: %w", e.Device, e.State, e.Time, err)
		}
		return err
	})
}

// Event returns the key of an entry that is kept so long, and its attributes; nil is none.
func Event(e *andon.Event, kept andon.Retention) (key, u ddb.Item) {
	u = ddb.Item{
		items.AttrDate: ddb.Text(timeText(e.Time)), "State": ddb.Text(string(e.State)),
		items.AttrOperator: nil, items.AttrMessage: nil, items.AttrAttributes: nil,
	}
	u.SetText(items.AttrOperator, string(e.Operator))
	u.SetText(items.AttrMessage, e.Message)
	u.SetText(items.AttrAttributes, string(e.Attributes))
	u.SetText(items.AttrEscalated, string(e.EscalatedTo))
	items.Expiry(kept).Set(u, e.Time)
	return ddb.Item{
		items.AttrDevice:    ddb.Text(string(e.Device)),
		items.AttrStateDate: ddb.Text(SortKey(e.State, e.Time)),
	}, u
}

// Escalate implements andon.Log. The model has one escalation of an entry, and no note.
func (r *Store) Escalate(
	ctx context.Context, id andon.TenantID, e andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	if e.Note != "" {
		return kept, false, unservedHere("a note with an escalation")
	}
	if err := r.checkTenant(ctx, id); err != nil {
		return kept, false, err
	}
	i, err := r.find(ctx, e.Device, e.Time, e.State)
	if err != nil {
		return kept, false, err
	}
	is, _, err := readEvent(i)
	if err != nil {
		return kept, false, err
	}
	if is.EscalatedTo == e.To {
		was := entryOf(is.Event)
		kept = was.CurrentEscalation()
		kept.Device, kept.Time, kept.State = e.Device, e.Time, e.State
		return kept, false, nil
	}
	key := ddb.Item{items.AttrDevice: i[items.AttrDevice],
		items.AttrStateDate: i[items.AttrStateDate]}
	set := ddb.Item{items.AttrEscalated: nil}
	set.SetText(items.AttrEscalated, string(e.To))
	err = r.db.Update(ctx, r.Table, key, set, items.AttrDevice)
	e.At = max(e.At, e.Time)
	return e, err == nil, err
}

// Device implements andon.Current: it is computed from the newest entry of each state.
func (r *Store) Device(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (d andon.Device, err error) {
	if err := r.checkTenant(ctx, id); err != nil {
		return d, err
	}
	ctx = ddb.ForAnswer(ctx, r.Eventual)
	ask := r.ofDevice(device)
	states, err := r.states(ctx, ask, andon.StateFilter{})
	if err != nil {
		return d, err
	}
	if len(states) == 0 {
		return d, andon.NoDevice(device)
	}
	newest := make([]items.Event, len(states))
	err = shared.Parallel(ctx, len(states), func(ctx context.Context, n int) (err error) {
		newest[n], err = r.first(ctx, ask, andon.EventQuery{Order: andon.Desc, Limit: 1}, states[n])
		return err
	})
	if err != nil {
		return d, err
	}
	return r.shown(ctx, ask, newest)
}

// first returns the first entry of a state, in the order of a query.
func (r *Store) first(
	ctx context.Context, ask ddb.Query, q andon.EventQuery, state andon.State,
) (items.Event, error) {
	for e, err := range r.inStates(ctx, ask, q, state) {
		return e, err
	}
	return items.Event{}, nil
}

// shown returns what a device shows by the newest entry of each of its states.
func (r *Store) shown(
	ctx context.Context, ask ddb.Query, newest []items.Event,
) (d andon.Device, err error) {
	set := r.tenant.Record.States
	slices.SortFunc(newest, func(a, b items.Event) int { return b.Key(set).Compare(a.Key(set)) })
	e := newest[0]
	d = andon.Device{
		ID: e.Device, State: e.State, Severity: set.Severity(e.State), Time: e.Time,
		Received: e.Time, Operator: e.Operator, Message: e.Message, Attributes: e.Attributes,
	}
	since := andon.EventQuery{Order: andon.Asc, Limit: 1}
	if len(newest) > 1 {
		key := newest[1].Key(set)
		since.After = &key
	}
	began, err := r.first(ctx, ask, since, e.State)
	d.Since = began.Time
	if err != nil || d.Severity == 0 {
		return d, err
	}
	return d, r.incident(ctx, ask, newest, &d)
}

// incident adds the open incident of a device: all entries after the last of severity 0.
func (r *Store) incident(
	ctx context.Context, ask ddb.Query, newest []items.Event, d *andon.Device,
) error {
	set := r.tenant.Record.States
	q := andon.EventQuery{Order: andon.Asc, Limit: ddb.MaxPage}
	var open []andon.State
	for _, e := range newest { // newest first
		if set.Severity(e.State) > 0 {
			open = append(open, e.State)
			continue
		}
		if q.After == nil {
			key := e.Key(set)
			q.After = &key
		}
	}
	for e, err := range r.inStates(ctx, ask, q, open...) {
		if err != nil {
			return err
		}
		if d.IncidentSince == 0 {
			d.IncidentSince = e.Time
		}
		if e.EscalatedTo != "" {
			d.EscalatedTo = e.EscalatedTo
			d.EscalatedEntry = andon.EntryRef{Time: e.Time, State: e.State}
		}
	}
	return nil
}

// Retirements implements andon.Current: there can be none, and intervals ask.
func (r *Store) Retirements(
	ctx context.Context, id andon.TenantID, _ andon.DeviceID,
) ([]andon.Time, error) {
	return nil, r.checkTenant(ctx, id)
}
