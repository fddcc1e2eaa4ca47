package rows

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/shared"
)

// eventRow is a row of the log: an entry, or next to it an escalation or its withdrawal.
type eventRow struct {
	of         andon.Escalation // At: 0 of an entry; of a withdrawal when it was, negative
	EntryValue                  // of an entry
}

func (r *eventRow) columns() []any {
	return []any{&r.of.Time, &r.of.State, &r.of.At, &r.of.To, &r.EntryValue, (*recordValue)(&r.of)}
}

const eventColumns = "SELECT time, state, at, supervisor, entry, record FROM events_by_device " +
	"WHERE tenant = ? AND device = ? AND day = ? AND shard = ? "

// eventsOrder is oldest first, the reverse of the clustering.
const eventsOrder = "ORDER BY time ASC, state DESC, at ASC, supervisor DESC"

var (
	eventsDown  = cql.Query{Text: eventColumns + "AND time >= ? AND time <= ?", Partition: 4}
	eventsUp    = cql.Query{Text: eventsDown.Text + " " + eventsOrder, Partition: 4}
	eventsEntry = cql.Query{Text: eventColumns + "AND time = ? AND state = ?", Partition: 4}
)

// entryOf joins the rows of one entry, in whatever order they are: of two deliveries in two shards
// the later wins. There may be no entry, if only escalations are left of one that has expired.
func entryOf(device andon.DeviceID, rows []eventRow) (e andon.Entry, ok bool) {
	var stamp int64
	for i := range rows {
		r := &rows[i]
		of := r.of
		switch of.Device = device; {
		case of.At == 0 && (!ok || r.Delivery > stamp):
			ok, stamp = true, r.Delivery
			e.Event = andon.Event{
				Device: device, Time: of.Time, State: of.State, Operator: r.Operator,
				Message: r.Message, Attributes: r.Attributes,
			}
		case of.At > 0:
			e.Escalations = append(e.Escalations, of)
		case of.At < 0 && (e.Withdrawn == nil || -of.At < e.Withdrawn.At):
			// The first one, if two processes wrote one at the same time.
			e.Withdrawn = &andon.Withdrawal{
				Device: device, Time: of.Time, State: of.State, At: -of.At,
				By: of.By, Note: of.Note,
			}
		}
	}
	slices.SortFunc(e.Escalations, shared.CompareEscalations)
	e.Escalations = slices.CompactFunc(e.Escalations, func(a, b andon.Escalation) bool {
		return a.At == b.At && a.To == b.To // in two shards
	})
	if len(e.Escalations) > 0 {
		e.EscalatedTo = e.Escalations[0].To
	}
	return e, ok
}

// Entry reads one entry; nil where there is none.
func (s Reader) Entry(
	ctx context.Context, t *Tenant, device andon.DeviceID, at andon.Time, state andon.State,
) (*andon.Entry, error) {
	rows, err := s.entryRows(ctx, t, device, at, state)
	if err != nil {
		return nil, err
	}
	e, ok := entryOf(device, rows)
	if !ok {
		return nil, nil
	}
	return &e, s.Operators(t, device, andon.Desc).fill(ctx, &e.Event)
}

func (s Reader) entryRows(
	ctx context.Context, t *Tenant, device andon.DeviceID, at andon.Time, state andon.State,
) (rows []eventRow, err error) {
	day := at.Day()
	for u, err := range s.Units(ctx, t.Key, OfEvents, string(device), day, day, andon.Desc) {
		if err != nil {
			return nil, err
		}
		for _, shard := range u.shardsOf(at, state) {
			var r eventRow
			args := []any{t.Key, string(device), int(day), shard, int64(at), string(state)}
			err := s.DB.Each(ctx, eventsEntry, args, r.columns(), func() { rows = append(rows, r) })
			if err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// PartitionUnits is how many rows a partition of the log may have, or KiB where they are larger:
// half of what the usual advice allows (100,000 rows, 100 MB).
const PartitionUnits = 50_000

// CountRows counts the rows of one shard of a device's day.
func (s Reader) CountRows(
	ctx context.Context, tenant string, device andon.DeviceID, day uint32, shards int,
) (n int64, err error) {
	q := cql.Ask("SELECT COUNT(*) FROM events_by_device "+
		"WHERE tenant = ? AND device = ? AND day = ? AND shard = ?", 4)
	args := []any{tenant, string(device), int(day), shared.Expand(shared.ShardsOf(shards))[0]}
	err = s.DB.Each(ctx, q, args, []any{&n}, func() {})
	return n, err
}

// First returns the time of a device's first entry strictly after a base; 0 where there is none.
func (s Reader) First(
	ctx context.Context, t *Tenant, device andon.DeviceID, base andon.EventKey,
) (andon.Time, error) {
	base.Device = device
	q := andon.EventQuery{
		Order: andon.Asc, Span: andon.Span{From: base.Time}, After: &base, Limit: 1,
	}
	for e, err := range s.Walk(ctx, t, device, q, nil) {
		return e.Time, err
	}
	return 0, nil
}

// Wanted reports whether a walk returns an entry. It may fill it in.
type Wanted func(ctx context.Context, e *andon.Entry) (bool, error)

// Walk returns the entries of a device that a query selects, that want admits and that were not
// withdrawn. A nil want admits all, as they are in the log: the operator is the one that an entry
// names.
func (s Reader) Walk(
	ctx context.Context, t *Tenant, device andon.DeviceID, q andon.EventQuery,
	want Wanted,
) iter.Seq2[andon.Entry, error] {
	days := s.UnitsIn(ctx, t.Key, OfEvents, string(device), q.Rest(), q.Order)
	all := seq.Join(days, func(u Unit) iter.Seq2[andon.Entry, error] {
		return s.day(ctx, t, device, u, q)
	})
	return seq.Of(func(yield func(andon.Entry) bool) error {
		yield = seq.UpTo(q.Limit, yield)
		for e, err := range all {
			take := err == nil && e.Withdrawn == nil && q.Admits(e.Key(t.Record.States))
			if take && want != nil {
				take, err = want(ctx, &e)
			}
			if err != nil || take && !yield(e) {
				return err
			}
		}
		return nil
	})
}

// day returns the entries of one day of a device in the order of the log; none if no state of the
// query has any.
func (s Reader) day(
	ctx context.Context, t *Tenant, device andon.DeviceID, u Unit, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	span := q.Rest()
	if span.To == 0 {
		span.To = andon.MaxTime
	}
	if !u.mayHave(q.States) {
		u.Shards = nil
	}
	ask := eventsDown
	if q.Order == andon.Asc {
		ask = eventsUp
	}
	size := min(max(q.Limit+2, 10), 500)
	var shards []*shared.Rows[eventRow]
	for _, shard := range u.Shards {
		args := []any{t.Key, string(device), int(u.Number), shard, int64(span.From), int64(span.To)}
		shards = append(shards, cql.Pages(s.DB, ask, args, size, (*eventRow).columns))
	}
	at := func(r *eventRow) andon.Time { return r.of.Time }
	all := shared.Merge(ctx, at, q.Order, shards...)
	return seq.Join(all, func(rows []eventRow) iter.Seq2[andon.Entry, error] {
		return seq.List(func() ([]andon.Entry, error) {
			return entriesOf(device, rows, t.Record.States, q.Order), nil
		})
	})
}

// entriesOf joins the rows of one instant into its entries, in an order.
func entriesOf(
	device andon.DeviceID, rows []eventRow, states *andon.StateSet, o andon.Order,
) (entries []andon.Entry) {
	slices.SortStableFunc(rows, func(a, b eventRow) int {
		return cmp.Compare(a.of.State, b.of.State)
	})
	same := func(a, b *eventRow) bool { return a.of.State == b.of.State }
	for of := range shared.Runs(rows, same) {
		if e, ok := entryOf(device, of); ok {
			entries = append(entries, e)
		}
	}
	sortEntries(entries, states, o)
	return entries
}

// InsertWithdrawal returns the two rows of a withdrawal.
func InsertWithdrawal(
	tenant string, w *andon.Withdrawal, shard int, stamp int64, ttl Lifetime,
) []cql.Mutation {
	record := andon.Escalation{
		Device: w.Device, Time: w.Time, State: w.State, At: -w.At, By: w.By, Note: w.Note,
	}
	row := WithdrawnRow(andon.EntryRef{Time: w.Time, State: w.State})
	return []cql.Mutation{{InsertEscalation(tenant, stamp, ttl, record, shard)},
		cql.One("INSERT INTO latest_by_device (tenant, device, state, withdrawn) "+
			"VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
			tenant, string(w.Device), row, stamp, stamp)}
}

// Newest returns the newest entry of a state in the log; nil where there is none.
func (s Reader) Newest(
	ctx context.Context, t *Tenant, device andon.DeviceID, state andon.State, span andon.Span,
) (*merge.Newest, error) {
	only, err := andon.ParseStateFilter(string(state))
	if err != nil {
		return nil, err
	}
	q := andon.EventQuery{Span: span, States: only, Limit: 1}
	for e, err := range s.Walk(ctx, t, device, q, nil) {
		if err != nil {
			return nil, err
		}
		content, err := s.Content(ctx, t, device, e.Time, state)
		return &merge.Newest{State: state, Time: e.Time, Known: true, Content: content}, err
	}
	return nil, nil
}

// Content returns what the last delivery of an entry in the log has; the zero value where the log
// has expired.
func (s Reader) Content(
	ctx context.Context, t *Tenant, device andon.DeviceID, at andon.Time, state andon.State,
) (last merge.Content, err error) {
	rows, err := s.entryRows(ctx, t, device, at, state)
	for i := range rows {
		if r := &rows[i]; r.of.At == 0 && r.Delivery > last.Delivery {
			last = merge.Content(r.EntryValue)
		}
	}
	return last, err
}

// The limits of a batch: at most so many rows, and not many more bytes than these.
const (
	BatchRows  = 200
	batchBytes = 24 << 10
)

// Batches are what is written of one device to the log or to its readings, by day and shard.
type Batches struct {
	All   []cql.Mutation
	sizes []int
	open  map[[2]int]int // by day and shard: where in All
}

// Add adds statements to the batch of a day and shard, and size, which is about what they take.
func (b *Batches) Add(day uint32, shard, size int, statements ...cql.Statement) {
	if b.open == nil {
		b.open = map[[2]int]int{}
	}
	of := [2]int{int(day), shard}
	at, ok := b.open[of]
	if !ok || b.sizes[at] > batchBytes || len(b.All[at]) >= BatchRows {
		at = len(b.All)
		b.open[of], b.All, b.sizes = at, append(b.All, nil), append(b.sizes, 0)
	}
	b.All[at] = append(b.All[at], statements...)
	b.sizes[at] += size
}

// EntrySize is about what an entry takes in its partition.
func EntrySize(e *andon.Event) int { return 64 + len(e.Message) + len(e.Attributes) }

// InsertEntry writes an entry into the log.
func InsertEntry(
	tenant string, stamp int64, ttl Lifetime, e *andon.Event, shard int,
) cql.Statement {
	return cql.Do(
		"INSERT INTO events_by_device (tenant, device, day, shard, time, state, at, supervisor, "+
			"entry) VALUES (?, ?, ?, ?, ?, ?, 0, '', ?) USING TIMESTAMP ? AND TTL ?",
		tenant, string(e.Device), int(e.Time.Day()), shard, int64(e.Time),
		string(e.State), PackEntry(stamp, e), stamp, ttl.Seconds(e.Time))
}

// InsertEscalation writes an escalation next to its entry; or a withdrawal, which is to nobody, and
// at a negative time.
func InsertEscalation(
	tenant string, stamp int64, ttl Lifetime, r andon.Escalation, shard int,
) cql.Statement {
	return cql.Do(
		"INSERT INTO events_by_device (tenant, device, day, shard, time, state, at, supervisor, "+
			"record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ? AND TTL ?",
		tenant, string(r.Device), int(r.Time.Day()), shard, int64(r.Time),
		string(r.State), int64(r.At), string(r.To), packRecord(&r),
		stamp, ttl.Seconds(r.Time))
}

// InsertNewest writes the newest entry of a state, unless a newer is stored.
func InsertNewest(
	tenant, device, row string, at andon.Time, content cql.Packed,
) cql.Statement {
	return cql.Do(
		"INSERT INTO latest_by_device (tenant, device, state, time, entry) "+
			"VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?",
		tenant, device, row, int64(at), content, int64(at))
}
