package cassandrastore

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
)

// kind is what a part of the directory is about.
type kind string

// The kinds.
const (
	ofEvents     kind = "device"     // by UTC day; the label is the state
	ofReadings   kind = "reading"    // by UTC day
	ofOperator   kind = "operator"   // by UTC hour
	ofSupervisor kind = "supervisor" // by UTC day
	// by UTC day on which an escalation of a device was made
	ofEscalations kind = "escalation"
	// ofNames lists operators, supervisors, metrics and kinds of records: the id says which, the
	// label is a name.
	ofNames kind = "names"
)

// indexRows gathers the index rows that a request needs and that this process has not written yet.
// One that expires is written at the time that it expires by, so that the longest stands.
type indexRows struct {
	store  *Store
	tenant string
	ttl    lifetime
	all    []cql.Mutation
	sums   map[uint64]bool // what they are remembered by
}

// writtenRows is how many rows are remembered, so that they are not written again.
const writtenRows = 1 << 21 // 16 MiB

func (s *Store) newIndexRows(tenant string, ttl lifetime) *indexRows {
	return &indexRows{store: s, tenant: tenant, ttl: ttl, sums: map[uint64]bool{}}
}

func (x *indexRows) add(text string, args []any, key ...string) {
	key = append(key, x.tenant, x.ttl.retention.String())
	sum := x.store.written.SumText(strings.Join(key, "\x00"))
	if x.sums[sum] || x.store.written.Holds(sum) {
		return
	}
	x.sums[sum] = true
	x.all = append(x.all, cql.One(text, args...))
}

// write writes them side by side with what they lead to, and remembers them.
func (x *indexRows) write(ctx context.Context, with ...cql.Mutation) error {
	err := x.store.db.Write(ctx, append(with, x.all...))
	if err == nil {
		x.store.written.Add(x.sums)
	}
	return err
}

// exists notes that a partition exists. at is a time within it.
func (x *indexRows) exists(k kind, id string, unit uint32, shard int, label string, at andon.Time) {
	ttl := x.ttl
	if k == ofSupervisor || k == ofEscalations {
		ttl.retention = andon.Forever // a device may be escalated for longer than its log is kept
	}
	x.add("INSERT INTO directory (tenant, kind, id, unit, shard, label) VALUES (?, ?, ?, ?, ?, ?) "+
		"USING TIMESTAMP ? AND TTL ?",
		[]any{x.tenant, string(k), id, int(unit), shard, label, ttl.stamp(at), ttl.seconds(at)},
		"directory", string(k), id, strconv.Itoa(int(unit)), strconv.Itoa(shard), label)
}

// device notes that something is kept of a device.
func (x *indexRows) device(device string) {
	x.add("INSERT INTO devices_by_tenant (tenant, bucket, device) VALUES (?, ?, ?)",
		[]any{x.tenant, bucketOf(device), device}, "devices_by_tenant", device)
}

// state notes that a state has entries.
func (x *indexRows) state(state string) {
	x.add("INSERT INTO states_by_tenant (tenant, state) VALUES (?, ?)",
		[]any{x.tenant, state}, "states_by_tenant", state)
}

// operator notes that an operator has an entry.
func (x *indexRows) operator(operator, device string, at andon.Time) {
	hour := at.Hour()
	x.add("INSERT INTO hints_by_operator (tenant, operator, hour, device) VALUES (?, ?, ?, ?) "+
		"USING TIMESTAMP ? AND TTL ?",
		[]any{x.tenant, operator, int(hour), device, x.ttl.stamp(at), x.ttl.seconds(at)},
		"hints_by_operator", operator, strconv.Itoa(int(hour)), device)
	x.exists(ofOperator, operator, hour, 0, "", at)
	x.answers(operator, device)
}

// name notes a name for lists of all of them.
func (x *indexRows) name(of, name string) {
	x.add("INSERT INTO directory (tenant, kind, id, unit, shard, label) VALUES (?, ?, ?, 0, 0, ?)",
		[]any{x.tenant, string(ofNames), of, name}, "names", of, name)
}

// answers notes that an operator may answer for a device now.
func (x *indexRows) answers(operator, device string) {
	x.add("INSERT INTO devices_by_operator (tenant, operator, device) VALUES (?, ?, ?)",
		[]any{x.tenant, operator, device}, "devices_by_operator", operator, device)
	x.name(string(ofOperator), operator)
}

// metric notes that a device has a metric. It is noted again each day, because it expires.
func (x *indexRows) metric(metric, device string, at andon.Time) {
	x.add("INSERT INTO devices_by_metric (tenant, metric, bucket, device) VALUES (?, ?, ?, ?) "+
		"USING TIMESTAMP ? AND TTL ?",
		[]any{x.tenant, metric, bucketOf(device), device, x.ttl.stamp(at), x.ttl.seconds(at)},
		"devices_by_metric", metric, device, strconv.Itoa(int(at.Day())))
	x.name(ofMetric, metric)
}

// The ids of the names of metrics, and of the kinds of records.
const (
	ofMetric = "metric"
	ofRecord = "record"
)

// lastDay is behind all days and hours.
const lastDay = 1<<31 - 1

// unit is a day or an hour of which there are partitions.
type unit struct {
	number uint32
	stored []int    // of shards, as the directory has them
	shards []int    // that may exist, ascending
	labels []string // of any shard
}

// shardsOf returns the shards that an entry may be in.
func (u *unit) shardsOf(at andon.Time, state andon.State) (all []int) {
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

// anyLabel is in place of the states of a device that has many: else a day would take a row for
// each. No state is named so.
const anyLabel = "*"

// statesListed is how many states of a device its days name.
const statesListed = 16

// labelOf is what the directory says of an entry's state.
func (v *view) labelOf(state andon.State) string {
	if len(v.States) > statesListed {
		return anyLabel
	}
	return string(state)
}

// mayHave reports whether entries of a state that is wanted may be there.
func (u *unit) mayHave(states andon.StateFilter) bool {
	return slices.ContainsFunc(u.labels, func(l string) bool {
		return l == anyLabel || states.Match(andon.State(l))
	})
}

// units reads which units from one to another exist, in an order.
func (s *Store) units(
	ctx context.Context, tenant string, k kind, id string, from, to uint32, o andon.Order,
) iter.Seq2[unit, error] {
	text := "SELECT unit, shard, label FROM directory " +
		"WHERE tenant = ? AND kind = ? AND id = ? AND unit >= ? AND unit <= ?"
	if o == andon.Asc {
		text += " ORDER BY unit ASC, shard DESC, label DESC"
	}
	args := []any{tenant, string(k), id, int(from), int(min(to, 1<<31-1))}
	all := cql.Pages(s.db, cql.Ask(text, 3), args, 64, (*unitRow).into)
	same := func(a, b *unitRow) bool { return a.unit == b.unit }
	return seq.Map(all.Groups(ctx, same), newUnit)
}

// newUnit is the unit that rows are of.
func newUnit(rows []unitRow) unit {
	u := unit{number: uint32(rows[0].unit)}
	for _, r := range rows {
		u.add(r)
	}
	for _, n := range u.stored {
		u.shards = append(u.shards, shared.Expand(n)...)
	}
	slices.Sort(u.shards)
	u.shards = slices.Compact(u.shards)
	return u
}

type unitRow struct {
	unit, shard int
	label       string
}

func (r *unitRow) into() []any { return []any{&r.unit, &r.shard, &r.label} }

func (u *unit) add(r unitRow) {
	if !slices.Contains(u.stored, r.shard) {
		u.stored = append(u.stored, r.shard)
	}
	if !slices.Contains(u.labels, r.label) {
		u.labels = append(u.labels, r.label)
	}
}
