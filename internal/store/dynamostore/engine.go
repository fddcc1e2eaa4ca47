package dynamostore

import (
	"context"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/adapter"
)

// Engine is the store as a program chooses and sets it.
type Engine struct {
	adapter.NoFiles
	Options
	retention, readings string // as they are set
}

// NewEngine returns an Engine with the defaults of its settings.
func NewEngine() adapter.Engine {
	o := defaults()
	return &Engine{Options: o, retention: o.Retention.String(),
		readings: o.ReadingsRetention.String()}
}

// Name implements adapter.Engine.
func (*Engine) Name() string { return "dynamodb" }

// Place implements adapter.Engine.
func (*Engine) Place() adapter.Place { return adapter.Elsewhere }

// Designs implements adapter.Schema: there is one.
func (*Engine) Designs() []string { return nil }

// Check implements adapter.Engine: each setting is checked by itself.
func (*Engine) Check() error { return nil }

// Takes implements adapter.Planning.
func (*Engine) Takes() adapter.Takes { return adapter.Takes{} }

// Settings implements adapter.Engine.
func (e *Engine) Settings() config.Group {
	g := config.Group{Name: e.Name(), Check: func(c *config.Check) { c.Pair("key", "secret") }}
	for _, part := range [][]config.Setting{
		e.ofService(), e.ofWork(), e.ofIndexes(), e.Capacity.settings(),
	} {
		g.Settings = append(g.Settings, part...)
	}
	return g
}

// ofService are the settings of which service it is, and which tables.
func (e *Engine) ofService() []config.Setting {
	return []config.Setting{
		{Key: "region", Value: config.Text(&e.Region),
			Help: "the AWS region; that of the environment or profile unless set"},
		{Key: "endpoint", Value: config.Text(&e.Endpoint).That(e.checkEndpoint),
			Help: "URL of another engine than the service in the region"},
		{Key: "prefix", Value: config.Text(&e.Prefix).That(e.checkPrefix),
			Help: "what the names of the tables begin with"},
		{Key: "layout", Value: config.Choice(&e.Layout, layoutAndon, layoutReference),
			Help: "andon, or reference for a table that was made from the reference's own model, " +
				"which serves less"},
		{Key: "table", Value: config.Given(&e.Table),
			Help: "the table of the layout reference"},
		{Key: "key", Value: config.Text(&e.Key),
			Help: "access key; the credentials of the environment, profile or role unless set"},
		{Key: "secret", Value: config.Secret(&e.Secret), Help: "its secret; it is never shown"},
	}
}

// ofWork are the settings of how the store works.
func (e *Engine) ofWork() []config.Setting {
	return []config.Setting{
		{Key: "shards", Value: config.Text(&e.Shards).That(e.checkShards),
			Help: "partitions of a device: a power of two, or auto for as many as its rate needs"},
		{Key: "consistency", Value: config.Choice(&e.Consistency, strong, eventual),
			Help: "consistency of reads for answers, unless a request chooses with " +
				"?consistency=; eventual ones cost half and may be a moment behind"},
		{Key: "readings", Value: config.Choice(&e.Readings, strong, eventual),
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
		{Key: "sweep_rate", Value: config.Count(&e.SweepRate),
			Help: "most items a second that andon sweep deletes"},
	}
}

// checkRetention reads what is set.
func (e *Engine) checkRetention() error {
	if err := e.Retention.UnmarshalText([]byte(e.retention)); err != nil {
		return err
	}
	return e.ReadingsRetention.UnmarshalText([]byte(e.readings))
}

// Open implements adapter.Engine.
func (e *Engine) Open(ctx context.Context, env adapter.Env) (andon.Store, error) {
	if e.Layout == layoutReference {
		r, err := openReference(ctx, e.in(env))
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	s, err := Open(ctx, e.in(env))
	if err != nil {
		return nil, err // and not a nil *Store that is a Store
	}
	return s, nil
}

func (e *Engine) in(env adapter.Env) Options {
	o := e.Options
	o.Log, o.Now = env.Log, env.Now
	return o
}
