package provision

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
)

// Setup is what a keyspace is made with. Replication is of a new one: without it a cluster of one
// node has 1. If a retention is nil the keyspace keeps its own, and what was written before keeps
// the one under which it was written. Cassandra itself deletes what is older.
type Setup = adapter.Setup

type setup struct {
	*cql.Cluster
	Setup
	options Options
	report  func(statement string)
	keep    Settings
	text    string // of the settings as they are stored; "" where there are none
}

// Init makes the keyspace, or what is missing of it. It may be repeated, also by two processes at
// once, since every statement may be. report is called with each statement before it is run.
func Init(ctx context.Context, o Options, s Setup, report func(statement string)) error {
	if s.RemoveIndexes {
		return andon.Errorf(andon.Invalid, "Cassandra's schema has no optional indexes: leave out "+
			"--remove-indexes")
	}
	o.Options = o.Complete()
	in := &setup{Setup: s, options: o, report: report}
	c, err := cql.Reach(ctx, o.Options)
	if s.DryRun && err != nil && andon.KindOf(err) == andon.Unavailable {
		report(fmt.Sprintf("-- %s\n-- So this is for a new keyspace on a cluster that is yet to "+
			"come", err))
		in.Cluster = imagined(o.Options, s.Replication)
		return in.run(ctx)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	in.Cluster = c
	return in.run(ctx)
}

// imagined is a cluster that fits a replication, without a session: three nodes by default.
func imagined(o cql.Options, replicas string) *cql.Cluster {
	c := &cql.Cluster{
		Options: o, Datacenter: cmp.Or(o.Datacenter, "datacenter1"), Datacenters: map[string]int{},
	}
	for part := range strings.SplitSeq(cmp.Or(replicas, "3"), ",") {
		name, digits, named := strings.Cut(part, ":")
		if !named {
			name, digits = c.Datacenter, part
		}
		c.Datacenters[name], _ = strconv.Atoi(digits) // asked says what is wrong
		if c.Datacenters[c.Datacenter] == 0 && o.Datacenter == "" {
			c.Datacenter = name
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
		if in.keep, in.text, err = ReadSettings(ctx, in.Session, in.options.Keyspace); err != nil {
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
	d, err := designs.New(in.keep.Latest)
	if err != nil {
		return err
	}
	if err := in.create(ctx, d.Tables()); err != nil {
		return err
	}
	return in.store(ctx)
}

// keyspace makes the keyspace if it is missing, and reports whether it existed.
func (in *setup) keyspace(ctx context.Context) (there bool, err error) {
	var r cql.Replication
	if in.Session != nil {
		if r, err = in.ReplicationOf(ctx, in.options.Keyspace); err != nil {
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
		return true, in.Meets(r)
	}
	statement := createKeyspace(in.options.Keyspace, asked, in.Datacenter)
	if statement != "" {
		if err := in.Meets(asked); err != nil {
			return false, err // before anything is made
		}
	}
	return false, in.do(ctx, statement)
}

func (in *setup) asked() (cql.Replication, error) {
	text := in.Replication
	if text == "" && in.Nodes() == 1 {
		text = "1"
	}
	if text == "" && in.Session == nil {
		text = "3"
	}
	if text == "" {
		return cql.Replication{in.Datacenter: 0}, nil // an error where the keyspace is to be made
	}
	if n, err := strconv.Atoi(text); err == nil {
		if len(in.Datacenters) > 1 {
			return nil, andon.Errorf(andon.Invalid, "the cluster has data centres %s: say how "+
				"many replicas each has, such as --replication %s:3",
				cql.List(in.Datacenters), in.Datacenter)
		}
		text = in.Datacenter + ":" + strconv.Itoa(n)
	}
	r := cql.Replication{}
	for part := range strings.SplitSeq(text, ",") {
		name, digits, _ := strings.Cut(part, ":")
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || in.Datacenters[name] == 0 {
			return nil, andon.Errorf(andon.Invalid, "replication %q: %q is no data centre of the "+
				"cluster with a number of replicas; it has %s", in.Replication, part,
				cql.List(in.Datacenters))
		}
		r[name] = n
	}
	return r, nil
}

func createKeyspace(name string, r cql.Replication, local string) string {
	if r[local] == 0 && len(r) == 1 {
		return ""
	}
	var parts []string
	for _, dc := range cql.Sorted(r) {
		parts = append(parts, fmt.Sprintf("'%s': %d", strings.ReplaceAll(dc, "'", "''"), r[dc]))
	}
	return "CREATE KEYSPACE IF NOT EXISTS " + name + " WITH replication = " +
		"{'class': 'NetworkTopologyStrategy', " + strings.Join(parts, ", ") + "}"
}

func (in *setup) decide() error {
	k := &in.keep
	if in.text == "" {
		k.Schema = SchemaVersion
		k.Settle = andon.DurationOf(cmp.Or(in.options.Settle, defaultSettle))
		k.Retention, k.Readings = andon.Forever, andon.NewTenant("t").Readings
		k.Latest = designs.Layout{Design: in.options.Latest}
		if k.Latest.Design == "" {
			k.Latest.Design = "buckets"
		}
		k.Latest.Complete(in.options.Buckets, andon.DefaultStates().Defs())
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

func (in *setup) name(table string) string { return in.options.Keyspace + "." + table }

// tables makes the tables of all designs: everything in a new keyspace, and what is missing in an
// existing one.
func (in *setup) tables(ctx context.Context) error {
	if in.text == "" {
		return in.create(ctx, Tables())
	}
	there, err := in.Session.Tables(ctx, in.options.Keyspace)
	if err != nil {
		return err
	}
	return in.create(ctx, slices.DeleteFunc(Tables(), func(t cql.Table) bool {
		return !t.HoldsRows() || there[t.Name] != ""
	}))
}

func (in *setup) create(ctx context.Context, tables []cql.Table) error {
	for _, t := range tables {
		if err := in.do(ctx, t.Create(in.options.Keyspace, in.keep.Window())); err != nil {
			return err
		}
	}
	return nil
}

// do reports a statement, and runs it unless nothing is to be changed.
func (in *setup) do(ctx context.Context, statement string) error {
	if statement == "" {
		return andon.Errorf(andon.Invalid, "say how many replicas there shall be of everything: "+
			"--replication 3, or %s:3 for each data centre", in.Datacenter)
	}
	in.report(statement)
	if in.DryRun {
		return nil
	}
	return in.Define(ctx, statement)
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
	in.report("INSERT INTO " + in.name("settings") + " (name, value) VALUES ('andon', '" +
		strings.ReplaceAll(string(text), "'", "''") + "')")
	if in.DryRun {
		return nil
	}
	return SwapSettings(ctx, in.Session, in.options.Keyspace, in.text, string(text))
}
