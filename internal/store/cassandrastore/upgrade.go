package cassandrastore

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/shared"
)

// upgrade brings a keyspace of the schema before to one. It may be repeated, and is broken off at
// any place. One that was released is never changed.
type upgrade struct {
	to       int
	tables   []table
	settings func(*settings)                     // nil: as they are
	move     func(context.Context, *setup) error // nil: nothing is to be moved
}

// upgrades are all of them, in order. No process of a former Andon may run meanwhile.
func upgrades() []upgrade {
	return []upgrade{
		// Settings hold Settle; the directory has shards by their number (expand); escalations are
		// in partitions by day; processes know of each other.
		{2, append(processTables(),
			table{"latest_by_device", "", "COLUMN escalation blob STATIC"},
			escalationsByDay(),
		), func(s *settings) {
			s.Latest.Buckets = formerBuckets(s.Latest.Buckets)
			if s.Next != nil {
				s.Next.Buckets = formerBuckets(s.Next.Buckets)
			}
		}, moveEscalations},
		// Tenants are records.
		{3, recordTables(), nil, moveTenants},
		// Entries can be withdrawn, devices purged.
		{4, []table{
			{"latest_by_device", "", "COLUMN withdrawn bigint STATIC"}, purgedDevices(),
		}, nil, nil},
	}
}

// schemaVersion is the newest schema that this program knows.
func schemaVersion() int { return upgrades()[len(upgrades())-1].to }

// upgrade brings settings to what this program knows.
func (s *settings) upgrade() {
	for _, u := range upgrades() {
		if u.to > s.Schema && u.settings != nil {
			u.settings(s)
		}
	}
}

// upgrade takes the upgrades that the keyspace lacks.
func (in *setup) upgrade(ctx context.Context) error {
	if in.text != "" && in.keep.Schema < schemaVersion() && !in.DryRun {
		if err := in.idle(ctx); err != nil {
			return err
		}
	}
	for _, u := range upgrades() {
		if u.to <= in.keep.Schema {
			continue
		}
		if err := in.create(ctx, u.tables); err != nil {
			return err
		}
		if u.move == nil || in.text == "" { // a new keyspace has nothing to move
			continue
		}
		if in.DryRun {
			return in.cantMove()
		}
		if err := u.move(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// cantMove says that statements alone move no rows.
func (in *setup) cantMove() error {
	return andon.Errorf(andon.Conflict, "the keyspace %s has schema %d, and an upgrade moves "+
		"rows, which no statements do: stop all processes and run `andon store init` without "+
		"--dry-run", in.options.Keyspace, in.keep.Schema)
}

// idle reports that a process writes. One of a former Andon that runs meanwhile goes on in tables
// that are dropped, and does not know what the next schema means.
func (in *setup) idle(ctx context.Context) error {
	before, err := in.beats(ctx)
	if err != nil || len(before) == 0 {
		return err
	}
	if err := sleep.For(ctx, 3*shared.UsualPace().Beat); err != nil {
		return err
	}
	after, err := in.beats(ctx)
	if err != nil {
		return err
	}
	for id, beat := range after {
		if beat != before[id] {
			return andon.Errorf(andon.Conflict, "a process of Andon writes to the keyspace %s: "+
				"stop all of them before its schema %d is upgraded", in.options.Keyspace,
				in.keep.Schema)
		}
	}
	return nil
}

// beats returns the beat of each process that wrote lately; none before schema 2.
func (in *setup) beats(ctx context.Context) (map[string]int64, error) {
	if in.keep.Schema < 2 {
		return nil, nil
	}
	all := map[string]int64{}
	var id string
	var beat int64
	it := in.session.Query("SELECT id, beat FROM " + in.name("processes") +
		" WHERE part = 'processes'").Consistency(gocql.Quorum).IterContext(ctx)
	for it.Scan(&id, &beat) {
		all[id] = beat
	}
	return all, failure("look for other processes", it.Close())
}

// formerBuckets spells the rules of schema 1 as they are spelled now. There a rule with a slash was
// for a state of that name and, at each slash, for a state of a tenant; one that could mean nothing
// was kept.
func formerBuckets(text string) string {
	var rules []string
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		at := strings.LastIndexByte(part, '=')
		if at < 0 {
			rules = append(rules, part)
			continue
		}
		name, n := part[:at], part[at:]
		all := []bucketRule{{"", andon.State(name)}}
		for i := range len(name) {
			if name[i] == '/' {
				all = append(all, bucketRule{andon.TenantID(name[:i]), andon.State(name[i+1:])})
			}
		}
		for _, r := range all {
			meant := r.state.Validate() == nil &&
				(len(all) == 1 || r.tenant == "" || r.tenant.Validate() == nil)
			if meant {
				rules = append(rules, r.String()+n)
			}
		}
	}
	return strings.Join(rules, ",")
}

// What is moved is read from all replicas and written to most of them: it is dropped behind that.

// moveEscalations moves what schema 1 has in escalations_by_device, and drops that.
func moveEscalations(ctx context.Context, in *setup) error {
	const former = "escalations_by_device"
	there, err := tablesOf(ctx, in.session, in.options.Keyspace)
	if err != nil || !there[former] {
		return err
	}
	var tenant, device, state, to string
	var time, at int64
	it := in.session.Query("SELECT tenant, device, time, state, at, supervisor FROM " +
		in.name(former)).Consistency(gocql.All).PageSize(pageRows).IterContext(ctx)
	for it.Scan(&tenant, &device, &time, &state, &at, &to) {
		day := int(andon.Time(at).Day())
		batch := in.session.Batch(gocql.UnloggedBatch).Consistency(gocql.Quorum)
		batch.Query("INSERT INTO "+in.name("escalations_by_day")+" (tenant, device, day, at, "+
			"time, state, supervisor) VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
			tenant, device, day, at, time, state, to, max(1, at))
		batch.Query("INSERT INTO "+in.name("directory")+" (tenant, kind, id, unit, shard, "+
			"label) VALUES (?, ?, ?, ?, 0, '') USING TIMESTAMP ?",
			tenant, string(ofEscalations), device, day, int64(andon.MaxTime)-1)
		if err := batch.ExecContext(ctx); err != nil {
			return failure("move escalations", err)
		}
	}
	if err := it.Close(); err != nil {
		return failure("move escalations", err)
	}
	return in.do(ctx, "DROP TABLE IF EXISTS "+in.name(former))
}

// moveTenants makes records of what schema 2 has in tenants, and drops that.
func moveTenants(ctx context.Context, in *setup) error {
	const former = "tenants"
	there, err := tablesOf(ctx, in.session, in.options.Keyspace)
	if err != nil || !there[former] {
		return err
	}
	var id, record string
	var version int64
	var incarnation int
	it := in.session.Query("SELECT id, record, version, life FROM " + in.name(former)).
		Consistency(gocql.All).IterContext(ctx)
	for it.Scan(&id, &record, &version, &incarnation) {
		due, data := incarnation, ""
		if record != "" {
			due = 0
			if data, err = formerTenant(record, incarnation); err != nil {
				return failure("move tenant "+id, err)
			}
		}
		// Behind whatever a process wrote since a former upgrade came so far.
		batch := in.session.Batch(gocql.UnloggedBatch).Consistency(gocql.Quorum)
		batch.Query("UPDATE "+in.name("records")+" USING TIMESTAMP 1 SET version = ?, due = ?, "+
			"data = ? WHERE tenant = '' AND kind = 'tenant' AND id = ?", version, due, data, id)
		batch.Query("INSERT INTO "+in.name("records_by_kind")+" (tenant, kind, bucket, id) "+
			"VALUES ('', 'tenant', ?, ?) USING TIMESTAMP 1", bucketOf(id), id)
		if err := batch.ExecContext(ctx); err != nil {
			return failure("move tenants", err)
		}
	}
	if err := it.Close(); err != nil {
		return failure("move tenants", err)
	}
	return in.do(ctx, "DROP TABLE IF EXISTS "+in.name(former))
}

// formerTenant spells a record of schema 2 as it is spelled now: it had the floor as two numbers,
// and its incarnation in the column life.
func formerTenant(record string, incarnation int) (data string, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(record), &fields); err != nil {
		return "", err
	}
	var floor [2]int64
	if err := json.Unmarshal(fields["floor"], &floor); err != nil {
		return "", err
	}
	horizon, err := json.Marshal(andon.Horizon{
		Events: andon.Time(floor[0]), Readings: andon.Time(floor[1]),
	})
	if err != nil {
		return "", err
	}
	fields["floor"], fields["place"] = horizon, json.RawMessage(strconv.Itoa(incarnation))
	text, err := json.Marshal(fields)
	return string(text), err
}
