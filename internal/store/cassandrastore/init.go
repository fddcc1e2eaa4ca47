package cassandrastore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/adapter"
)

// Setup is what a keyspace is made with. Replication is of a new one: without it a cluster of one
// node has 1. A Retention that is nil stays what the keyspace has, and what was written before
// keeps that under which it was written. What is older is given back by Cassandra itself.
type Setup = adapter.Setup

// setup is an Init under way.
type setup struct {
	*cluster
	Setup
	tell func(statement string)
	keep settings
	text string // of the settings as they are stored; "" where there are none
}

// Init makes the keyspace, or what is missing of it, and may be repeated, also by two processes at once: every
// statement is one that may be. tell is given each before it is run.
func Init(ctx context.Context, o Options, s Setup, tell func(statement string)) error {
	if s.RemoveIndexes {
		return andon.Errorf(andon.Invalid, "Cassandra's schema has no optional indexes: leave out "+
			"--remove-indexes")
	}
	c, err := reach(ctx, o)
	if s.DryRun && err != nil && andon.KindOf(err) == andon.Unavailable {
		tell(fmt.Sprintf("-- %s\n-- So this is for a new keyspace on a cluster that is yet to come",
			err))
		in := &setup{cluster: imagined(o, s.Replication), Setup: s, tell: tell}
		return in.run(ctx)
	}
	if err != nil {
		return err
	}
	defer c.session.Close()
	in := &setup{cluster: c, Setup: s, tell: tell}
	return in.run(ctx)
}

// imagined is a cluster that a replication fits, without a session: three nodes unless it says
// otherwise.
func imagined(o Options, replicas string) *cluster {
	o = o.withDefaults()
	c := &cluster{
		options: o, datacenter: cmp.Or(o.Datacenter, "datacenter1"), datacenters: map[string]int{},
	}
	for part := range strings.SplitSeq(cmp.Or(replicas, "3"), ",") {
		name, digits, named := strings.Cut(part, ":")
		if !named {
			name, digits = c.datacenter, part
		}
		c.datacenters[name], _ = strconv.Atoi(digits) // asked says what is wrong
		if c.datacenters[c.datacenter] == 0 && o.Datacenter == "" {
			c.datacenter = name
		}
	}
	return c
}

func (in *setup) run(ctx context.Context) error {
	there, err := in.keyspace(ctx)
	if err != nil {
		return err
	}
	if there {
		if in.keep, in.text, err = readSettings(ctx, in.session, in.options); err != nil {
			return err
		}
	}
	if err := in.decide(); err != nil {
		return err
	}
	first := "CREATE TABLE IF NOT EXISTS " + in.name("settings") + " " + settingsTable
	if err := in.do(ctx, first); err != nil {
		return err
	}
	if err := in.tables(ctx); err != nil {
		return err
	}
	d, err := newDesign(in.keep.Latest)
	if err != nil {
		return err
	}
	if err := in.create(ctx, d.tables()); err != nil {
		return err
	}
	return in.store(ctx)
}

// keyspace makes the keyspace where it is not there, and reports whether it was.
func (in *setup) keyspace(ctx context.Context) (there bool, err error) {
	var r replication
	if in.session != nil {
		if r, err = in.replicationOf(ctx, in.options.Keyspace); err != nil {
			return false, err
		}
	}
	asked, err := in.asked()
	switch {
	case err != nil:
		return false, err
	case r != nil && in.Replication != "" && asked.String() != r.String():
		return true, andon.Errorf(andon.Conflict,
			"keyspace %s has replication %s, and %s was asked for: Andon does not change it, "+
				"since a repair must follow; use ALTER KEYSPACE", in.options.Keyspace, r, asked)
	case r != nil:
		return true, in.meets(r)
	}
	statement := createKeyspace(in.options.Keyspace, asked, in.datacenter)
	if statement != "" {
		if err := in.meets(asked); err != nil {
			return false, err // before anything is made
		}
	}
	return false, in.do(ctx, statement)
}

// meets reports whether the consistencies can be met by a replication.
func (c *cluster) meets(r replication) error {
	err := c.check(r, "cassandra.read_consistency", c.options.ReadConsistency)
	if err != nil {
		return err
	}
	return c.check(r, "cassandra.write_consistency", c.options.WriteConsistency)
}

// asked reads the replication that is asked for.
func (in *setup) asked() (replication, error) {
	text := in.Replication
	if text == "" && in.nodes() == 1 {
		text = "1"
	}
	if text == "" && in.session == nil {
		text = "3"
	}
	if text == "" {
		return replication{in.datacenter: 0}, nil // an error where the keyspace is to be made
	}
	if n, err := strconv.Atoi(text); err == nil {
		if len(in.datacenters) > 1 {
			return nil, andon.Errorf(andon.Invalid, "the cluster has data centres %s: say how "+
				"many replicas each has, such as --replication %s:3",
				list(in.datacenters), in.datacenter)
		}
		text = in.datacenter + ":" + strconv.Itoa(n)
	}
	r := replication{}
	for part := range strings.SplitSeq(text, ",") {
		name, digits, _ := strings.Cut(part, ":")
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || in.datacenters[name] == 0 {
			return nil, andon.Errorf(andon.Invalid, "replication %q: %q is no data centre of the "+
				"cluster with a number of replicas; it has %s", in.Replication, part,
				list(in.datacenters))
		}
		r[name] = n
	}
	return r, nil
}

func createKeyspace(name string, r replication, local string) string {
	if r[local] == 0 && len(r) == 1 {
		return ""
	}
	var parts []string
	for _, dc := range sorted(r) {
		parts = append(parts, fmt.Sprintf("'%s': %d", strings.ReplaceAll(dc, "'", "''"), r[dc]))
	}
	return "CREATE KEYSPACE IF NOT EXISTS " + name + " WITH replication = " +
		"{'class': 'NetworkTopologyStrategy', " + strings.Join(parts, ", ") + "}"
}

// decide decides what the settings are to be.
func (in *setup) decide() error {
	k := &in.keep
	if in.text == "" {
		k.Schema = schemaVersion
		k.Settle = andon.DurationOf(cmp.Or(in.options.Settle, defaultSettle))
		k.Retention, k.Readings = andon.Forever, andon.NewTenant("t").Readings
		k.Latest = layout{Design: in.options.Latest}
		if k.Latest.Design == "" {
			k.Latest.Design = "buckets"
		}
		k.Latest.complete(in.options.Buckets, andon.DefaultStates().Defs())
	} else {
		if err := k.agrees(in.options); err != nil {
			return err
		}
	}
	for _, r := range []struct{ to, from *andon.Retention }{
		{&k.Retention, in.Retention}, {&k.Readings, in.ReadingsRetention},
	} {
		if r.from != nil {
			*r.to = *r.from
		}
		if *r.to != andon.Forever && andon.Duration(*r.to).Std().Hours() > 24*365*20 {
			return andon.Errorf(andon.Invalid,
				"Cassandra can't let rows expire after more than 20 years: use forever")
		}
	}
	return nil
}

// complete fills in what belongs to a design.
func (l *layout) complete(buckets string, declared []andon.StateDef) {
	switch l.Design {
	case "buckets":
		if l.Buckets = buckets; buckets == "" {
			l.Buckets = strconv.Itoa(defaultBuckets)
		}
	case "tables", "tables-by-device":
		for _, d := range declared {
			l.Tables = append(l.Tables, d.Name)
		}
		slices.Sort(l.Tables)
		l.Tables = ownTables(l.Tables)
	}
}

const defaultSettle = 30 * time.Second

// agrees reports where a process is set to what its keyspace has not: all processes must be as one
// in it.
func (s *settings) agrees(o Options) error {
	const how = "leave the setting out to take what is there, or change what is there with " +
		"`andon store rebuild latest`"
	if err := s.known(o.withDefaults().Keyspace); err != nil {
		return err
	}
	if o.Latest != "" && o.Latest != s.Latest.Design {
		return andon.Errorf(andon.Invalid, "cassandra.latest is %s, and keyspace %s has %s: %s",
			o.Latest, o.withDefaults().Keyspace, s.Latest.Design, how)
	}
	asked, err := parseBuckets(o.Buckets)
	if err != nil {
		return err
	}
	has, err := parseBuckets(s.Latest.Buckets)
	if err != nil {
		return err
	}
	if o.Buckets != "" && s.Latest.Design == "buckets" && !asked.equal(has) {
		return andon.Errorf(andon.Invalid, "cassandra.buckets is %s, and keyspace %s has %s: %s",
			o.Buckets, o.withDefaults().Keyspace, s.Latest.Buckets, how)
	}
	if o.Settle != 0 && o.Settle != s.Settle.Std() {
		return andon.Errorf(andon.Invalid, "cassandra.settle is %s, and keyspace %s has %s, which "+
			"was chosen when it was made: leave the setting out to take what is there",
			andon.DurationOf(o.Settle), o.withDefaults().Keyspace, s.Settle)
	}
	return nil
}

// schemaVersion is the version of what is stored: the tables, and what their values mean.
const schemaVersion = 1

// known reports that a keyspace has another version than this program reads and writes.
func (s *settings) known(keyspace string) error {
	if s.Schema == schemaVersion {
		return nil
	}
	return andon.Errorf(andon.Conflict, "keyspace %s has schema %d, and this Andon knows schema "+
		"%d: use the Andon that made it", keyspace, s.Schema, schemaVersion)
}

func (in *setup) name(table string) string { return in.options.Keyspace + "." + table }

// tables makes what all designs have: everything in a new keyspace, and in one that is there what
// it lacks.
func (in *setup) tables(ctx context.Context) error {
	if in.text == "" {
		return in.create(ctx, tables())
	}
	there, err := tablesOf(ctx, in.session, in.options.Keyspace)
	if err != nil {
		return err
	}
	return in.create(ctx, slices.DeleteFunc(tables(), func(t table) bool {
		return !t.holdsRows() || there[t.name]
	}))
}

// create makes tables, views and indexes.
func (in *setup) create(ctx context.Context, tables []table) error {
	for _, t := range tables {
		if err := in.do(ctx, t.create(in.options.Keyspace, in.keep.window())); err != nil {
			return err
		}
	}
	return nil
}

// create returns the statement that makes a table, a view, an index or a type.
func (t table) create(keyspace string, window int) string {
	name := keyspace + "." + t.name
	if rest, ok := strings.CutPrefix(t.cql, "MATERIALIZED VIEW AS "); ok {
		rest = strings.Replace(rest, "FROM ", "FROM "+keyspace+".", 1)
		return "CREATE MATERIALIZED VIEW IF NOT EXISTS " + name + " AS " + rest
	}
	if rest, ok := strings.CutPrefix(t.cql, "TYPE "); ok {
		return "CREATE TYPE IF NOT EXISTS " + name + " " + rest
	}
	if rest, ok := strings.CutPrefix(t.cql, "INDEX ON "); ok {
		return "CREATE INDEX IF NOT EXISTS " + t.name + " ON " + keyspace + "." + rest
	}
	cql := strings.Replace(t.cql, "'compaction_window_size': 1",
		"'compaction_window_size': "+strconv.Itoa(window), 1)
	comment := "comment = '" + strings.ReplaceAll(t.what, "'", "''") + "'"
	if strings.Contains(cql, "WITH CLUSTERING") {
		return "CREATE TABLE IF NOT EXISTS " + name + " " + cql + "\n  AND " + comment
	}
	return "CREATE TABLE IF NOT EXISTS " + name + " " + cql + "\n  WITH " + comment
}

// window is how many days the entries of one SSTable are of at most: some thirty SSTables hold what
// is kept, which is what Cassandra's authors advise.
func (s *settings) window() int {
	days := 30 * 30
	if s.Retention != andon.Forever {
		days = int(andon.Duration(s.Retention).Std().Hours() / 24)
	}
	return min(max(days/30, 1), 30)
}

// do tells a statement, and runs it unless nothing is to be changed.
func (in *setup) do(ctx context.Context, statement string) error {
	if statement == "" {
		return andon.Errorf(andon.Invalid, "say how many replicas there shall be of everything: "+
			"--replication 3, or %s:3 for each data centre", in.datacenter)
	}
	in.tell(statement)
	if in.DryRun {
		return nil
	}
	return define(ctx, in.session, statement)
}

// define changes the schema, and waits until all nodes have it. What is there already is no error.
// An answer that does not come in time is waited for: the change goes on meanwhile.
func define(ctx context.Context, session *gocql.Session, statement string) error {
	return defineBy(ctx, statement, func(ctx context.Context) error {
		return session.Query(statement).Consistency(gocql.All).Idempotent(true).ExecContext(ctx)
	}, session.AwaitSchemaAgreement)
}

// A change of the schema that was not answered is sent again so often, so long after all nodes
// agree or can't. A large table or a busy node takes minutes.
const (
	definedAgain = 20
	defineEvery  = time.Second
)

func defineBy(ctx context.Context, statement string, run, agree func(context.Context) error) error {
	for attempt := 0; ; attempt++ {
		err := run(ctx)
		var exists *gocql.RequestErrAlreadyExists
		switch {
		case err == nil, errors.As(err, &exists):
			if err = agree(ctx); err == nil {
				return nil
			}
		case viewsRefused(err):
			return viewsDisabled()
		}
		if !unanswered(err) || attempt == definedAgain || ctx.Err() != nil {
			return schemaError(statement, err)
		}
		_ = agree(ctx) // what it can't say now the next attempt will
		_ = sleep.For(ctx, defineEvery)
	}
}

// unanswered reports that it is not known whether a statement was carried out.
func unanswered(err error) bool {
	var request gocql.RequestError
	if errors.As(err, &request) {
		switch request.Code() {
		case gocql.ErrCodeWriteTimeout, gocql.ErrCodeReadTimeout, gocql.ErrCodeOverloaded,
			gocql.ErrCodeServer:
			return true
		}
		return false
	}
	return !errors.Is(err, context.Canceled)
}

func viewsRefused(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "materialized views") && strings.Contains(text, "disabled")
}

func viewsDisabled() error {
	return andon.Errorf(andon.Invalid, "materialized views are disabled on this cluster: set "+
		"materialized_views_enabled: true in cassandra.yaml of every node, or choose another "+
		"design than view with cassandra.latest")
}

func schemaError(statement string, err error) error {
	var request gocql.RequestError
	if errors.As(err, &request) && request.Code() == gocql.ErrCodeUnauthorized {
		return andon.Errorf(andon.Invalid, "the user lacks a right that `andon store init` needs: "+
			"%s. Have a user with CREATE, ALTER, DROP, SELECT and MODIFY on the keyspace run "+
			"it. For a new keyspace, what --dry-run prints is enough", request.Message())
	}
	head, _, _ := strings.Cut(statement, "(")
	return failure(strings.TrimSpace(head), err)
}

// store writes the settings last: they say that all tables are there.
func (in *setup) store(ctx context.Context) error {
	text, err := json.Marshal(in.keep)
	if err != nil {
		return err
	}
	if string(text) == in.text {
		return nil
	}
	in.tell("INSERT INTO " + in.name("settings") + " (name, value) VALUES ('andon', '" +
		strings.ReplaceAll(string(text), "'", "''") + "')")
	if in.DryRun {
		return nil
	}
	return swapSettings(ctx, in.session, in.options, in.text, string(text))
}

// readSettings reads the settings; "" where there are none yet.
func readSettings(ctx context.Context, s *gocql.Session, o Options) (settings, string, error) {
	var text string
	err := s.Query("SELECT value FROM "+o.Keyspace+".settings WHERE name = 'andon'").
		Consistency(o.read()).ScanContext(ctx, &text)
	switch {
	case errors.Is(err, gocql.ErrNotFound):
		return settings{}, "", nil
	case err != nil && isMissing(err):
		return settings{}, "", nil
	case err != nil:
		return settings{}, "", failure("read the settings of the keyspace", err)
	}
	var stored settings
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return settings{}, "", andon.Errorf(andon.Internal,
			"the settings of keyspace %s are damaged: %w", o.Keyspace, err)
	}
	return stored, text, nil
}

// swapSettings writes settings over those that were read.
func swapSettings(ctx context.Context, s *gocql.Session, o Options, was, is string) error {
	q := s.Query("INSERT INTO "+o.Keyspace+".settings (name, value) VALUES ('andon', ?) "+
		"IF NOT EXISTS", is)
	if was != "" {
		q = s.Query("UPDATE "+o.Keyspace+".settings SET value = ? WHERE name = 'andon' "+
			"IF value = ?", is, was)
	}
	found := map[string]any{}
	applied, err := q.Consistency(o.write()).MapScanCASContext(ctx, found)
	if err != nil {
		return failure("write the settings of the keyspace", err)
	}
	if !applied && found["value"] != is {
		return andon.Errorf(andon.Conflict,
			"the settings of keyspace %s were changed meanwhile: try again", o.Keyspace)
	}
	return nil
}
