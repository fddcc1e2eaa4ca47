package dynamostore

import (
	"cmp"
	"context"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/plan"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/dynamostore/planning"
	"github.com/andonhq/andon/internal/store/dynamostore/provision"
	"github.com/andonhq/andon/internal/store/dynamostore/reference"
)

// Engine is the store as a program selects and configures it.
type Engine struct {
	adapter.NoFiles
	adapter.NoPlan   // it takes nothing of this machine
	adapter.NoSchema // there is one design
	Options
	retention, readings string // as they are set
}

// NewEngine returns an Engine with the defaults of its settings.
func NewEngine() adapter.Engine {
	o := defaults()
	return &Engine{
		Options: o, retention: o.Retention.String(), readings: o.ReadingsRetention.String(),
	}
}

// Name implements adapter.Engine.
func (*Engine) Name() string { return "dynamodb" }

// Place implements adapter.Engine.
func (*Engine) Place() adapter.Place { return adapter.Elsewhere }

// Check implements adapter.Engine: an item of the guide to time series is in MetricGSI once.
func (e *Engine) Check() error {
	switch {
	case e.Layout != layoutSeries:
	case len(e.MetricIndex) > 1:
		return andon.Errorf(andon.Invalid, "dynamodb.metric_index has %d metrics: an item of the "+
			"layout timeseries is in MetricGSI for one", len(e.MetricIndex))
	case e.LatestIndex == items.ProjectsMetrics:
		return andon.Errorf(andon.Invalid, "dynamodb.latest_index is %s: in the layout timeseries "+
			"each metric is an attribute of its own, so say %s", e.LatestIndex, items.ProjectsAll)
	}
	return nil
}

// Layouts implements adapter.Planning.
func (e *Engine) Layouts(s plan.Sample) ([]plan.Layout, error) {
	o := e.Options
	return planning.Layouts(planning.Config{
		Tables: o.ownTables(), Indexes: o.ReadingIndexes, Capacity: o.Capacity,
		Shards: o.fixedShards(), Divides: o.Shards == autoShards,
		Eventual: o.Consistency == ddb.Eventual, EventualReadings: o.Readings == ddb.Eventual,
		Recount: o.Recount,
	}, s)
}

// Settings implements adapter.Engine.
func (e *Engine) Settings() config.Group {
	g := config.Group{Name: e.Name(), Check: func(c *config.Check) { c.Pair("key", "secret") }}
	for _, part := range [][]config.Setting{
		e.serviceSettings(), e.workSettings(), e.indexSettings(), e.Capacity.Settings(),
	} {
		g.Settings = append(g.Settings, part...)
	}
	return g
}

// serviceSettings returns the settings that say which service and which tables to use.
func (e *Engine) serviceSettings() []config.Setting {
	return []config.Setting{
		{Key: "region", Value: config.Text(&e.Region),
			Help: "the AWS region; that of the environment or profile unless set"},
		{Key: "endpoint", Value: config.Text(&e.Endpoint).That(e.checkEndpoint),
			Help: "URL of another engine than the service in the region"},
		{Key: "prefix", Value: config.Text(&e.Prefix).That(e.checkPrefix),
			Help: "what the names of the tables begin with"},
		{Key: "layout", Value: config.Choice(&e.Layout, layoutAndon, layoutReference, layoutSeries),
			Help: "andon, or that of a table which was made from one of the guides and serves " +
				"less: reference for device states, timeseries for readings"},
		{Key: "table", Value: config.Given(&e.Table),
			Help: "the table of the layout reference or timeseries"},
		{Key: "key", Value: config.Text(&e.Key),
			Help: "access key; the credentials of the environment, profile or role unless set"},
		{Key: "secret", Value: config.Secret(&e.Secret), Help: "its secret; it is never shown"},
	}
}

func (e *Engine) workSettings() []config.Setting {
	return []config.Setting{
		{Key: "shards", Value: config.Text(&e.Shards).That(e.checkShards),
			Help: "partitions of a device: a power of two, or auto for as many as its rate " +
				"needs; auto also divides what a person, a state or a metric has in an index"},
		{Key: "consistency", Value: config.Choice(&e.Consistency, ddb.Strong, ddb.Eventual),
			Help: "consistency of reads for answers, unless a request chooses with " +
				"?consistency=; eventual ones cost half and may lag by a moment"},
		{Key: "readings", Value: config.Choice(&e.Readings, ddb.Strong, ddb.Eventual),
			Help: "the same for readings alone"},
		{Key: "retention", Value: config.Text(&e.retention).That(e.checkRetention),
			Help: "how long the service keeps entries; a tenant may keep them shorter, not longer"},
		{Key: "readings_retention", Value: config.Text(&e.readings).That(e.checkRetention),
			Help: "how long the service keeps readings"},
		{Key: "timeout", Value: config.Span(&e.Timeout, time.Millisecond),
			Help: "time that one call may take, with its repetitions"},
		{Key: "in_flight", Value: config.Count(&e.InFlight), Help: "most calls under way at once"},
		{Key: "recount", Value: config.Span(&e.Recount, time.Second),
			Help: "how often the devices of each state are counted again"},
		{Key: "changes_for", Value: config.Span(&e.ChangesFor, time.Hour),
			Help: "how long changes of what devices show are kept, so that a reader of the feed " +
				"that was away continues where it was; after that it starts again"},
		{Key: "changes_size", Value: config.Size(&e.ChangesBytes),
			Help: "most bytes of such changes of a tenant; beyond them the oldest go earlier"},
		{Key: "sweep_rate", Value: config.Count(&e.SweepRate),
			Help: "most items a second that andon sweep deletes"},
	}
}

func (e *Engine) checkRetention() error {
	if err := e.Retention.UnmarshalText([]byte(e.retention)); err != nil {
		return err
	}
	return e.ReadingsRetention.UnmarshalText([]byte(e.readings))
}

// Open implements adapter.Engine.
func (e *Engine) Open(ctx context.Context, env adapter.Env) (andon.Store, error) {
	o := e.optionsIn(env)
	if e.Layout != layoutAndon {
		return openGuide(ctx, o)
	}
	s, err := Open(ctx, o)
	if err != nil {
		return nil, err // not a nil *Store in an interface
	}
	return s, nil
}

func openGuide(ctx context.Context, o Options) (andon.Store, error) {
	o.Prefix = "" // the table has its own name
	own := &Store{options: o}
	config := own.clientConfig()
	config.Unprocessed = nil
	db, err := ddb.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	own.db = db
	create := reference.New
	if o.Layout == layoutSeries {
		create = reference.NewReadings
	}
	s := create(db, o.ofGuide(), own)
	if err := s.Ready(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return s, nil
}

// optionsIn returns the options with what the program gives every store.
func (e *Engine) optionsIn(env adapter.Env) Options {
	o := e.Options
	o.Log, o.Now = cmp.Or(env.Log, o.Log), env.Now
	return o
}

// Init implements adapter.Schema.
func (e *Engine) Init(
	ctx context.Context, env adapter.Env, s adapter.Setup, report func(statement string),
) error {
	return Init(ctx, e.optionsIn(env), s, report)
}

// Formats implements adapter.Schema.
func (*Engine) Formats() []string { return provision.Formats() }

// Capacities implements adapter.Schema.
func (*Engine) Capacities() []string { return provision.Capacities() }

// Template implements adapter.Schema.
func (e *Engine) Template(format, capacity string) (string, error) {
	paid := e.Capacity
	paid.Mode = cmp.Or(capacity, paid.Mode)
	return provision.Stack{
		Prefix: e.Prefix, Listed: e.tables(), Capacity: paid,
		Actions: ddb.Actions(e.Layout != layoutAndon),
	}.Template(format)
}

// Init creates the tables with their indexes, or what is missing of them. It may be repeated, also
// by two processes at once. report is called with each call before it is done, as a command of the
// AWS CLI.
func Init(ctx context.Context, o Options, s adapter.Setup, report func(statement string)) error {
	if s.Replication != "" || s.Retention != nil || s.ReadingsRetention != nil {
		return andon.Errorf(andon.Invalid, "DynamoDB keeps its own copies, and what it deletes is "+
			"set by dynamodb.retention and dynamodb.readings_retention: leave out --replication, "+
			"--retention and --readings-retention")
	}
	p, err := provision.Begin(ctx, o.access(), provision.Setting{
		Capacity: o.Capacity, DryRun: s.DryRun, Report: report,
	})
	if err != nil {
		return err
	}
	defer p.Close()
	for _, t := range o.tables() {
		if err := p.Table(ctx, t); err != nil {
			return err
		}
	}
	if p.Created("") {
		p.Note("alarms, and a policy of who may use the tables, are in what andon store template " +
			"prints")
	}
	if o.Layout != layoutAndon {
		return nil
	}
	if err := o.list(ctx, p, s.RemoveIndexes); err != nil {
		return err
	}
	for _, index := range o.SpareIndexes() {
		if err := p.Spare(ctx, o.Prefix+items.TableReadings, index, s.RemoveIndexes); err != nil {
			return err
		}
	}
	return nil
}
