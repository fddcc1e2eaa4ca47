package memstore

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/adapter"
)

// Engine is the store as a program chooses it.
type Engine struct{}

var _ adapter.Engine = Engine{}

// Name is of adapter.Engine.
func (Engine) Name() string { return "memory" }

// Place is of adapter.Engine.
func (Engine) Place() adapter.Place { return adapter.Memory }

// Settings is of adapter.Engine: there are none.
func (e Engine) Settings() config.Group { return config.Group{Name: e.Name()} }

// Open is of adapter.Engine.
func (Engine) Open(context.Context, adapter.Env) (andon.Store, error) { return New(), nil }
