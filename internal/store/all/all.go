// Package all is the explicit list of the stores. A new store is one line in stores, and nothing
// else of Andon names an engine. It must not know what a store is used for.
package all

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/pebblestore"
)

// Config is what stores are opened with; each takes from it what concerns it.
type Config struct {
	Log     *slog.Logger
	Dir     string // directory of an embedded store
	Owner   string // what this process says of itself to another one that opens Dir
	Cache   int64  // bytes of Dir kept in memory; 0 for the store's own default
	Reserve int64  // bytes kept free on the disk of Dir; 0 for the store's own default
	// Fatal is told that the disk failed; it must end the process.
	Fatal func(error)
}

// opener is one store by its name.
type opener struct {
	name string
	open func(Config) (andon.Store, error)
}

func stores() []opener {
	return []opener{
		{"pebble", openPebble},
		{"memory", openMemory},
	}
}

// planned are the stores whose names are fixed but which are not built in yet.
func planned() []string { return []string{"cassandra", "dynamodb"} }

func openPebble(c Config) (andon.Store, error) {
	return pebblestore.Open(c.Dir, pebblestore.Options{
		Log: c.Log, Owner: c.Owner, Cache: c.Cache, Reserve: c.Reserve, Fatal: c.Fatal,
	})
}

func openMemory(Config) (andon.Store, error) { return memstore.New(), nil }

// Names returns the names that Open knows.
func Names() []string {
	var names []string
	for _, s := range stores() {
		names = append(names, s.name)
	}
	return names
}

// Open opens a store by its name. An unknown name is Invalid.
func Open(name string, c Config) (andon.Store, error) {
	for _, s := range stores() {
		if s.name == name {
			return s.open(c)
		}
	}
	known := strings.Join(Names(), ", ")
	if slices.Contains(planned(), name) {
		return nil, andon.Errorf(andon.Invalid,
			"store %q is not in this build yet: this one has %s", name, known)
	}
	return nil, andon.Errorf(andon.Invalid, "store %q is unknown: this build has %s", name, known)
}
