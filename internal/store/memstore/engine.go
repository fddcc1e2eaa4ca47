package memstore

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/adapter"
)

// Engine is the store as a program chooses it.
type Engine struct {
	adapter.NoSchema
	adapter.NoFiles
	adapter.NoPlan
}

var _ adapter.Engine = Engine{}

// Name implements adapter.Engine.
func (Engine) Name() string { return "memory" }

// Place implements adapter.Engine.
func (Engine) Place() adapter.Place { return adapter.Memory }

// Settings implements adapter.Engine: there are none.
func (e Engine) Settings() config.Group { return config.Group{Name: e.Name()} }

// Check implements adapter.Engine.
func (Engine) Check() error { return nil }

// Open implements adapter.Engine.
func (Engine) Open(context.Context, adapter.Env) (andon.Store, error) { return New(), nil }
