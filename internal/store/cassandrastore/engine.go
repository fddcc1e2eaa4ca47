package cassandrastore

import (
	"cmp"
	"context"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/plan"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/planning"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
)

// Engine is the store with its settings, as a program configures it.
type Engine struct {
	adapter.NoFiles
	adapter.NoPlan   // it takes nothing of this machine
	adapter.NoSchema // there are no templates
	Options
	replication string // of a keyspace that is made: "3", "dc1:3,dc2:2"; "" where none is named
}

// NewEngine returns an Engine with the defaults of its settings.
func NewEngine() adapter.Engine { return &Engine{Options: defaults()} }

// Name implements adapter.Engine.
func (*Engine) Name() string { return "cassandra" }

// Place implements adapter.Engine.
func (*Engine) Place() adapter.Place { return adapter.Elsewhere }

// Designs implements adapter.Schema.
func (*Engine) Designs() []string { return designs.Names() }

// Layouts implements adapter.Planning: a layout for each design.
func (e *Engine) Layouts(s plan.Sample) ([]plan.Layout, error) {
	return planning.Layouts(e.Name(), e.Buckets, s)
}

// Settings implements adapter.Engine.
func (e *Engine) Settings() config.Group {
	g := config.Group{Name: e.Name(), Check: checkSettings}
	for _, part := range [][]config.Setting{e.ofCluster(), e.ofAccess(), e.ofWork()} {
		g.Settings = append(g.Settings, part...)
	}
	return g
}

func (e *Engine) ofCluster() []config.Setting {
	// ANY is not among them: it would acknowledge what no node has yet.
	words := []string{"LOCAL_QUORUM", "QUORUM", "ALL", "ONE", "TWO", "THREE", "LOCAL_ONE"}
	ofWrites := append(words[:len(words):len(words)], "EACH_QUORUM")
	return []config.Setting{
		{Key: "hosts", Value: config.List(&e.Hosts).That(e.CheckHosts),
			Help: "contact points, host or host:port, joined by commas; in YAML a list, too"},
		{Key: "keyspace", Value: config.Given(&e.Keyspace).That(e.CheckKeyspace),
			Help: "the keyspace"},
		{Key: "datacenter", Value: config.Text(&e.Datacenter),
			Help: "the local datacenter; that of the first contact point that answers unless set"},
		{Key: "replication", Value: config.Text(&e.replication),
			Help: "of a keyspace that andon store init makes: 3, or dc1:3,dc2:2"},
		{Key: "consistency", Value: config.Choice(&e.Consistency, words...),
			Help: "consistency of reads and of writes"},
		{Key: "read_consistency", Value: config.Choice(&e.ReadConsistency, words...).OrNone(),
			Help: "consistency of reads alone"},
		{Key: "write_consistency",
			Value: config.Choice(&e.WriteConsistency, ofWrites...).OrNone(),
			Help:  "consistency of writes alone"},
	}
}

func (e *Engine) ofAccess() []config.Setting {
	return []config.Setting{
		{Key: "user", Value: config.Text(&e.User), Help: "user; no authentication unless set"},
		{Key: "password", Value: config.Secret(&e.Password),
			Help: "password; it is never shown"},
		{Key: "password_file", Value: config.Text(&e.PasswordFile),
			Help: "file that holds the password"},
		{Key: "tls", Value: config.OnOff(&e.TLS.On), Help: "TLS to the nodes"},
		{Key: "tls_ca", Value: config.Text(&e.TLS.CA),
			Help: "file of the authorities that nodes are trusted by (PEM); the system's unless " +
				"set"},
		{Key: "tls_cert", Value: config.Text(&e.TLS.Cert),
			Help: "file of the client's TLS certificate (PEM)"},
		{Key: "tls_key", Value: config.Text(&e.TLS.Key), Help: "file of its key (PEM)"},
		{Key: "tls_skip_name", Value: config.OnOff(&e.TLS.SkipName),
			Help: "on: a node's certificate need not be of the name or address that it is known " +
				"by"},
	}
}

func (e *Engine) ofWork() []config.Setting {
	return []config.Setting{
		{Key: "timeout", Value: config.Span(&e.Timeout, time.Millisecond),
			Help: "time that one statement may take, and all of them together where a request is " +
				"of few"},
		{Key: "speculate", Value: config.Span(&e.Speculate, 0),
			Help: "time after which a read is sent to a second node, too; 0s for never"},
		{Key: "connections", Value: config.Count(&e.Connections),
			Help: "connections to each node"},
		{Key: "in_flight", Value: config.Count(&e.InFlight),
			Help: "most statements in progress at once"},
		{Key: "latest", Value: config.Choice(&e.Latest, designs.Names()...).OrNone(),
			Help: "design that devices are found by state with; the keyspace's own unless set"},
		{Key: "buckets", Value: config.Text(&e.Buckets).That(e.checkBuckets),
			Help: "partitions of a state under the design buckets: 16, or " +
				"16,WARNING4=4,hash:hex3; the keyspace's own unless set"},
		{Key: "recount", Value: config.Span(&e.Recount, time.Second),
			Help: "how often the devices of each state are counted again"},
		{Key: "changes_for", Value: config.Span(&e.ChangesFor, time.Hour),
			Help: "how long changes of what devices show are kept, so that a reader of the feed " +
				"that was away continues where it was; after that it starts again"},
		{Key: "changes_size", Value: config.Size(&e.ChangesBytes),
			Help: "most bytes of such changes of a tenant; beyond them the oldest go earlier"},
		{Key: "settle", Value: config.Span(&e.Settle, 10*time.Second).OrNone(),
			Help: "how long after a change a device is reviewed; an append fails after half of " +
				"it; the keyspace's own unless set, and 30s for a new one"},
	}
}

func checkSettings(c *config.Check) {
	c.Pair("tls_cert", "tls_key")
	if c.IsSet("password") && c.IsSet("password_file") {
		c.Wrong("password_file", "and cassandra.password do not go together")
	}
	for _, key := range []string{"tls_ca", "tls_cert", "tls_key"} {
		if c.IsSet(key) && !c.Equals("tls", "on") { // what is meant to be secret would not be
			c.Wrong(key, "needs cassandra.tls on, too")
		}
	}
}

// Open implements adapter.Engine.
func (e *Engine) Open(ctx context.Context, env adapter.Env) (andon.Store, error) {
	s, err := Open(ctx, e.optionsFor(env))
	if err != nil {
		return nil, err // and not a nil *Store that is a Store
	}
	return s, nil
}

// Init implements adapter.Schema.
func (e *Engine) Init(
	ctx context.Context, env adapter.Env, s adapter.Setup, report func(statement string),
) error {
	s.Replication = cmp.Or(s.Replication, e.replication)
	return provision.Init(ctx, e.optionsFor(env).Options, s, report)
}

func (e *Engine) optionsFor(env adapter.Env) Options {
	o := e.Options
	o.Log, o.Now = cmp.Or(env.Log, o.Log), env.Now
	if env.AnyDesign {
		o.Latest, o.Buckets = "", ""
	}
	return o
}
