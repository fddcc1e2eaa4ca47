package rows

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared"
	"github.com/andonhq/andon/internal/written"
)

// Kind is what a part of the directory lists.
type Kind string

// The kinds.
const (
	OfEvents     Kind = "device"     // by UTC day; the label is the state
	OfReadings   Kind = "reading"    // by UTC day
	OfOperator   Kind = "operator"   // by UTC hour
	OfSupervisor Kind = "supervisor" // by UTC day
	// by UTC day on which an escalation of a device was made
	OfEscalations Kind = "escalation"
	// OfNames lists operators, supervisors, metrics, kinds of records and states: the id says
	// which, the label is a name.
	OfNames Kind = "names"
)

// Reader reads rows. Its methods may be called concurrently.
type Reader struct{ DB *cql.Session }

// Index collects the index rows that a request needs and that this process has not written yet. A
// row that expires is written at the timestamp of its expiry, so that the one that lives longest
// wins.
type Index struct {
	db      *cql.Session
	written *written.Rows
	tenant  string
	TTL     Lifetime
	Rows    []cql.Mutation
	Sums    map[uint64]bool // what they are remembered by
}

// WrittenRows is how many written rows a process remembers, so as not to write them again.
const WrittenRows = 1 << 21 // 16 MiB

func (x *Index) add(text string, args []any, key ...string) {
	key = append(key, x.tenant, x.TTL.Retention.String())
	sum := x.written.SumText(strings.Join(key, "\x00"))
	if x.Sums[sum] || x.written.Holds(sum) {
		return
	}
	x.Sums[sum] = true
	x.Rows = append(x.Rows, cql.One(text, args...))
}

// NewIndex returns an empty Index of a tenant, whose rows live for ttl.
func NewIndex(
	db *cql.Session, written *written.Rows, tenant string, ttl Lifetime,
) *Index {
	return &Index{db: db, written: written, tenant: tenant, TTL: ttl, Sums: map[uint64]bool{}}
}

// Write writes the rows concurrently with what they lead to, and remembers them.
func (x *Index) Write(ctx context.Context, with ...cql.Mutation) error {
	err := x.db.Write(ctx, append(with, x.Rows...)...)
	if err == nil {
		x.written.Add(x.Sums)
	}
	return err
}

// Partition adds that a partition exists. at is a time within it.
func (x *Index) Partition(k Kind, id string, unit uint32, shard int, label string, at andon.Time) {
	ttl := x.TTL
	if k == OfSupervisor || k == OfEscalations || k == OfNames {
		ttl.Retention = andon.Forever // a device may be escalated for longer than its log is kept
	}
	x.add("INSERT INTO directory (tenant, kind, id, unit, shard, label) VALUES (?, ?, ?, ?, ?, ?) "+
		"USING TIMESTAMP ? AND TTL ?",
		[]any{x.tenant, string(k), id, int(unit), shard, label, ttl.stamp(at), ttl.Seconds(at)},
		"directory", string(k), id, strconv.Itoa(int(unit)), strconv.Itoa(shard), label)
}

// Device adds that a device has rows.
func (x *Index) Device(device string) {
	x.add("INSERT INTO devices_by_tenant (tenant, bucket, device) VALUES (?, ?, ?)",
		[]any{x.tenant, Bucket(device), device}, "devices_by_tenant", device)
}

// Operator adds that an operator has an entry.
func (x *Index) Operator(operator, device string, at andon.Time) {
	hour := at.Hour()
	x.add("INSERT INTO hints_by_operator (tenant, operator, hour, device) VALUES (?, ?, ?, ?) "+
		"USING TIMESTAMP ? AND TTL ?",
		[]any{x.tenant, operator, int(hour), device, x.TTL.stamp(at), x.TTL.Seconds(at)},
		"hints_by_operator", operator, strconv.Itoa(int(hour)), device)
	x.Partition(OfOperator, operator, hour, 0, "", at)
	x.answers(operator, device)
}

// Name adds a name to the list of all names of a kind.
func (x *Index) Name(of, name string) { x.Partition(OfNames, of, 0, 0, name, 0) }

// answers adds that an operator may be responsible for a device now.
func (x *Index) answers(operator, device string) {
	x.add("INSERT INTO devices_by_operator (tenant, operator, device) VALUES (?, ?, ?)",
		[]any{x.tenant, operator, device}, "devices_by_operator", operator, device)
	x.Name(string(OfOperator), operator)
}

// metric adds that a device has a metric. The row is written again each day, because it expires.
func (x *Index) metric(metric, device string, at andon.Time) {
	x.add("INSERT INTO devices_by_metric (tenant, metric, bucket, device) VALUES (?, ?, ?, ?) "+
		"USING TIMESTAMP ? AND TTL ?",
		[]any{x.tenant, metric, Bucket(device), device, x.TTL.stamp(at), x.TTL.Seconds(at)},
		"devices_by_metric", metric, device, strconv.Itoa(int(at.Day())))
	x.Name(OfMetric, metric)
}

// The ids of the names of metrics, of the kinds of records, and of the states that have entries.
const (
	OfMetric = "metric"
	OfRecord = "record"
	OfState  = "state"
)

// LastDay is after all days and hours.
const LastDay = 1<<31 - 1

// Unit is a day or an hour that has partitions.
type Unit struct {
	Number uint32
	stored []int    // of shards, as the directory has them
	Shards []int    // that may exist, ascending
	Labels []string // of any shard
}

// shardsOf returns the shards that an entry may be in.
func (u *Unit) shardsOf(at andon.Time, state andon.State) (all []int) {
	for _, n := range u.stored {
		if n < 0 {
			n = shared.ShardOf(at, state, -n)
		}
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// AnyLabel takes the place of the states of a device that has many: otherwise a day would have a
// row for each. No state is named so.
const AnyLabel = "*"

// mayHave reports whether the unit may have entries of the states of a filter.
func (u *Unit) mayHave(states andon.StateFilter) bool {
	return slices.ContainsFunc(u.Labels, func(l string) bool {
		return l == AnyLabel || states.Match(andon.State(l))
	})
}

// UnitsIn reads the units of a span that exist, in an order.
func (s Reader) UnitsIn(
	ctx context.Context, tenant string, k Kind, id string, span andon.Span, o andon.Order,
) iter.Seq2[Unit, error] {
	number := andon.Time.Day
	if k == OfOperator {
		number = andon.Time.Hour
	}
	to := uint32(LastDay)
	switch {
	case span.Empty():
		return func(func(Unit, error) bool) {}
	case span.To != 0:
		to = number(span.To)
	}
	return s.Units(ctx, tenant, k, id, number(span.From), to, o)
}

// Units reads the units that exist from one to another, in an order.
func (s Reader) Units(
	ctx context.Context, tenant string, k Kind, id string, from, to uint32, o andon.Order,
) iter.Seq2[Unit, error] {
	text := "SELECT unit, shard, label FROM directory " +
		"WHERE tenant = ? AND kind = ? AND id = ? AND unit >= ? AND unit <= ?"
	if o == andon.Asc {
		text += " ORDER BY unit ASC, shard DESC, label DESC"
	}
	args := []any{tenant, string(k), id, int(from), int(min(to, 1<<31-1))}
	all := cql.Pages(s.DB, cql.Ask(text, 3), args, 64, (*unitRow).columns)
	number := func(r *unitRow) int { return r.unit }
	return seq.Map(shared.Merge(ctx, number, o, all), newUnit)
}

func newUnit(rows []unitRow) Unit {
	u := Unit{Number: uint32(rows[0].unit)}
	for _, r := range rows {
		u.stored, u.Labels = append(u.stored, r.shard), append(u.Labels, r.label)
	}
	u.stored, u.Labels = shared.Distinct(u.stored), shared.Distinct(u.Labels)
	for _, n := range u.stored {
		u.Shards = append(u.Shards, shared.Expand(n)...)
	}
	slices.Sort(u.Shards)
	u.Shards = slices.Compact(u.Shards)
	return u
}

type unitRow struct {
	unit, shard int
	label       string
}

func (r *unitRow) columns() []any { return []any{&r.unit, &r.shard, &r.label} }

// Names reads the names of a kind that come after one, in order, so many at a time.
func (s Reader) Names(
	ctx context.Context, key, of, after string, page int,
) iter.Seq2[string, error] {
	q := cql.Ask("SELECT label FROM directory WHERE tenant = ? AND kind = ? AND id = ? "+
		"AND unit = 0 AND shard = 0 AND label > ?", 3)
	args := []any{key, string(OfNames), of, after}
	return cql.Pages(s.DB, q, args, page, cql.Text).Each(ctx)
}

// States returns the states that have entries, in order.
func (s Reader) States(ctx context.Context, key string) ([]andon.State, error) {
	return seq.Collect(seq.Map(s.Names(ctx, key, OfState, "", cql.PageRows),
		func(name string) andon.State { return andon.State(name) }))
}
