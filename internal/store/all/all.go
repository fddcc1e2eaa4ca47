// Package all is the explicit list of the engines. A new engine is one line in New; no other
// package of Andon names an engine. It must not know what a store is used for.
package all

import (
	"context"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/cassandrastore"
	"github.com/andonhq/andon/internal/store/dynamostore"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/pebblestore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// Engines are what a store can be chosen from. The first is the default.
type Engines []adapter.Engine

// New returns the engines of this build, with the defaults of their settings.
func New() Engines {
	return Engines{
		pebblestore.NewEngine(),
		memstore.Engine{},
		cassandrastore.NewEngine(),
		dynamostore.NewEngine(),
	}
}

// Names returns the names that Find knows.
func (es Engines) Names() (names []string) {
	for _, e := range es {
		names = append(names, e.Name())
	}
	return names
}

// About returns the names, and the nature of each: "pebble (embedded, durable), ... or ...".
func (es Engines) About() string {
	var about []string
	for _, e := range es {
		about = append(about, e.Name()+" ("+e.Place().String()+")")
	}
	last := len(about) - 1
	return strings.Join(about[:last], ", ") + " or " + about[last]
}

// Groups returns the settings of all engines. Those of the ones that are not chosen are read, too:
// a file may name them all.
func (es Engines) Groups() (groups []config.Group) {
	for _, e := range es {
		groups = append(groups, e.Settings())
	}
	return groups
}

// Find returns an engine by its name. An unknown one is Invalid.
func (es Engines) Find(name string) (adapter.Engine, error) {
	for _, e := range es {
		if e.Name() == name {
			return e, nil
		}
	}
	return nil, andon.Errorf(andon.Invalid,
		"store %q is unknown: this build has %s", name, strings.Join(es.Names(), ", "))
}

// Open opens a store by the name of its engine, as its settings say. An unknown name is Invalid,
// else it is as adapter.Engine has it. Anyone may close the store at any time (wrap.Guard).
func (es Engines) Open(ctx context.Context, name string, e adapter.Env) (andon.Store, error) {
	of, err := es.Find(name)
	if err != nil {
		return nil, err
	}
	s, err := of.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	return wrap.Guard(s), nil
}
