package pebblestore

import (
	"context"
	"fmt"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/plan"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
	"github.com/andonhq/andon/internal/store/pebblestore/rawpebble"
)

// Engine is the store as a program chooses and sets it.
type Engine struct {
	adapter.NoSchema
	options Options
}

// NewEngine returns an Engine with the defaults of its settings.
func NewEngine() adapter.Engine {
	e := &Engine{}
	e.options.defaults()
	return e
}

// Name implements adapter.Engine.
func (*Engine) Name() string { return "pebble" }

// Place implements adapter.Engine.
func (*Engine) Place() adapter.Place { return adapter.Directory }

// Settings implements adapter.Engine.
func (e *Engine) Settings() config.Group {
	return config.Group{Name: e.Name(), Settings: []config.Setting{
		{Key: "cache", Value: config.Size(&e.options.Cache),
			Help: "bytes of the store kept in memory for reading"},
		{Key: "memtable", Value: config.Size(&e.options.Memory).That(e.options.memoryFits),
			Help: "bytes of the newest entries kept in memory until they are written in blocks, " +
				"at least 1MiB; with less, each part of the log is written more often"},
		{Key: "reserve", Value: config.Size(&e.options.Reserve),
			Help: "bytes kept free on the store's disk; below them writes get 507"},
		{Key: "changes_for", Value: config.Span(&e.options.ChangesFor, time.Minute),
			Help: "how long changes of what devices show are kept, so that a reader of the feed " +
				"that was away continues where it was; after that it starts again"},
		{Key: "changes_size", Value: config.Size(&e.options.ChangesBytes),
			Help: "most bytes of such changes; beyond them the oldest go earlier"},
		{Key: "arrivals_for", Value: config.Span(&e.options.ArrivalsFor, time.Minute),
			Help: "how long entries can be read in the order of their arrival, from a position " +
				"on; after that a reader goes by time"},
		{Key: "arrivals_size", Value: config.Size(&e.options.ArrivalsBytes),
			Help: "most bytes of such entries; beyond them the oldest go earlier, and none are " +
				"kept that came so fast that they would go within ten minutes. 1 keeps none"},
	}}
}

// Takes implements adapter.Planning.
func (e *Engine) Takes() adapter.Takes {
	return adapter.Takes{
		Cache:   adapter.Amount{Bytes: e.options.Cache, Key: "pebble.cache"},
		Newest:  adapter.Amount{Bytes: e.options.Memory, Key: "pebble.memtable"},
		Reserve: adapter.Amount{Bytes: e.options.Reserve, Key: "pebble.reserve"},
	}
}

// Layouts implements adapter.Planning.
func (e *Engine) Layouts(plan.Sample) ([]plan.Layout, error) {
	return []plan.Layout{{
		Store:   e.Name(),
		Machine: &plan.Machine{Cache: e.options.Cache, Reserve: e.options.Reserve},
	}}, nil
}

// Check implements adapter.Engine: each setting is checked by itself.
func (*Engine) Check() error { return nil }

// Ceiling implements adapter.Files.
func (e *Engine) Ceiling(env adapter.Env) (
	keep func(ctx context.Context, events []andon.Event) error, end func() error, err error,
) {
	o := e.optionsFor(env)
	o.complete()
	return rawpebble.Open(env.Dir, o.directory(env.Dir))
}

// Open implements adapter.Engine.
func (e *Engine) Open(ctx context.Context, env adapter.Env) (andon.Store, error) {
	s, err := OpenContext(ctx, env.Dir, e.optionsFor(env))
	if err != nil {
		return nil, err // and not a nil *Store that is a Store
	}
	return s, nil
}

// Repair implements adapter.Files.
func (e *Engine) Repair(env adapter.Env, giveUp bool, report func(line string)) error {
	return Repair(env.Dir, e.optionsFor(env), giveUp, report)
}

// Copy implements adapter.Files.
func (e *Engine) Copy(env adapter.Env, take func(dir string, files []string) error) error {
	return Copy(env.Dir, e.optionsFor(env), take)
}

// Verify implements adapter.Files.
func (e *Engine) Verify(
	ctx context.Context, env adapter.Env, report func(place, what string),
	progress func(done, total int64),
) (rows map[string]int64, err error) {
	return Verify(ctx, env.Dir, e.optionsFor(env), report, progress)
}

func (e *Engine) optionsFor(env adapter.Env) Options {
	o := e.options
	o.Log, o.Owner, o.Fatal, o.Ordered = env.Log, env.Owner, env.Fatal, env.Ordered
	return o
}

func (o *Options) memoryFits() error {
	if o.Memory < entries.LeastMemory {
		return fmt.Errorf("is less than %d bytes, or 1MiB", entries.LeastMemory)
	}
	if o.Memory > entries.MostMemory {
		return fmt.Errorf("is more than %d bytes, or 2GiB", int64(entries.MostMemory))
	}
	return nil
}
