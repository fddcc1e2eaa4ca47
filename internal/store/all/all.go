// Package all is the explicit list of the stores. A new store is one line in stores, and nothing
// else of Andon names an engine. It must not know what a store is used for.
package all

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/pebblestore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// Config is what stores are opened with; each takes from it what concerns it.
type Config struct {
	Log     *slog.Logger
	Now     func() andon.Time // the clock
	Dir     string            // directory of an embedded store
	Owner   string            // what this process says of itself to another one that opens Dir
	Cache   int64             // bytes of Dir kept in memory; 0 for the store's own default
	Reserve int64             // bytes kept free on the disk of Dir; 0 for the store's own default
	// Fatal is told that the disk failed; it must end the process.
	Fatal func(error)
	// Ordered is told how long each write waited for its turn, where writes go one by one, and how
	// long it took. It must return at once.
	Ordered func(waited, took time.Duration)
	// Cassandra is what the store of that name is opened with. Its Log is that of the Config.
	Cassandra cassandrastore.Options
}

// Setup is what the schema of a store is made with.
type Setup struct {
	Replication string // "3", "dc1:3,dc2:2"; "" where the engine knows itself
	// Retention and ReadingsRetention are the longest that any tenant may keep events and readings;
	// nil: what the schema has stays, and a new one has the engine's own default.
	Retention, ReadingsRetention *andon.Retention
	DryRun                       bool // tell what would be done, and do nothing
}

// opener is one store by its name.
type opener struct {
	name string
	open func(context.Context, Config) (andon.Store, error)
	// check reports what is wrong with the Config by itself; nil: nothing can be.
	check func(Config) error
	// init makes the schema; nil: the store has none that must be made.
	init func(ctx context.Context, c Config, s Setup, tell func(statement string)) error
	// repair finds what is damaged and, where it is told to, gives up what can't be read; nil: the
	// store has nothing that it could repair.
	repair func(c Config, giveUp bool, tell func(line string)) error
	// designs are those that devices can be found by state with; nil: there is nothing to choose.
	designs func() []string
}

func stores() []opener {
	return []opener{
		{name: "pebble", open: openPebble, repair: repairPebble},
		{name: "memory", open: openMemory},
		{
			name: "cassandra", open: openCassandra, check: checkCassandra, init: initCassandra,
			designs: cassandrastore.Designs,
		},
	}
}

// planned are the stores whose names are fixed but which are not built in yet.
func planned() []string { return []string{"dynamodb"} }

func openPebble(ctx context.Context, c Config) (andon.Store, error) {
	return pebblestore.OpenContext(ctx, c.Dir, pebblestore.Options{
		Log: c.Log, Owner: c.Owner, Cache: c.Cache, Reserve: c.Reserve, Fatal: c.Fatal,
		Ordered: c.Ordered,
	})
}

func repairPebble(c Config, giveUp bool, tell func(line string)) error {
	o := pebblestore.Options{Log: c.Log, Owner: c.Owner}
	return pebblestore.Repair(c.Dir, o, giveUp, tell)
}

func openMemory(context.Context, Config) (andon.Store, error) { return memstore.New(), nil }

func openCassandra(ctx context.Context, c Config) (andon.Store, error) {
	s, err := cassandrastore.Open(ctx, c.cassandra())
	if err != nil {
		return nil, err // and not a nil *Store that is a Store
	}
	return s, nil
}

func initCassandra(ctx context.Context, c Config, s Setup, tell func(statement string)) error {
	return cassandrastore.Init(ctx, c.cassandra(), cassandrastore.Setup{
		Replication: s.Replication,
		Retention:   s.Retention, ReadingsRetention: s.ReadingsRetention, DryRun: s.DryRun,
	}, tell)
}

func checkCassandra(c Config) error { return c.cassandra().Validate() }

func (c Config) cassandra() cassandrastore.Options {
	o := c.Cassandra
	o.Log, o.Now = c.Log, c.Now
	return o
}

// Names returns the names that Open knows.
func Names() []string {
	var names []string
	for _, s := range stores() {
		names = append(names, s.name)
	}
	return names
}

// find returns a store by its name. An unknown one is Invalid.
func find(name string) (opener, error) {
	for _, s := range stores() {
		if s.name == name {
			return s, nil
		}
	}
	known := strings.Join(Names(), ", ")
	if slices.Contains(planned(), name) {
		return opener{}, andon.Errorf(andon.Invalid,
			"store %q is not in this build yet: this one has %s", name, known)
	}
	return opener{}, andon.Errorf(andon.Invalid,
		"store %q is unknown: this build has %s", name, known)
}

// Check reports what Open would refuse a Config for without asking anybody. It is Invalid.
func Check(name string, c Config) error {
	s, err := find(name)
	if err != nil || s.check == nil {
		return err
	}
	return s.check(c)
}

// Open opens a store by its name. An unknown name is Invalid, as is a Config that makes no sense; a
// store that can't be reached is Unavailable. Anyone may close the store at any time (wrap.Guard);
// what it can do beside the contract is asked for with wrap.Ask.
func Open(ctx context.Context, name string, c Config) (andon.Store, error) {
	if err := Check(name, c); err != nil {
		return nil, err
	}
	opener, err := find(name)
	if err != nil {
		return nil, err
	}
	s, err := opener.open(ctx, c)
	if err != nil {
		return nil, err
	}
	return wrap.Guard(s), nil
}

// HasSchema reports whether a store has a schema that Init makes before it can be opened.
func HasSchema(name string) bool {
	s, err := find(name)
	return err == nil && s.init != nil
}

// Init makes the schema of a store, or what is missing of it, and may be repeated. tell is given
// each statement before it is run; with DryRun each that would be run. Unsupported where the store
// has no schema.
func Init(
	ctx context.Context, name string, c Config, setup Setup, tell func(statement string),
) error {
	if err := Check(name, c); err != nil {
		return err
	}
	s, err := find(name)
	if err != nil {
		return err
	}
	if s.init == nil {
		return andon.Errorf(andon.Unsupported, "store %q has no schema to make", name)
	}
	return s.init(ctx, c, setup, tell)
}

// Repair tells what of a store is damaged and what giving that up costs, and with giveUp does it.
// Nobody may have the store open. Unsupported where there is nothing that Andon could repair.
func Repair(name string, c Config, giveUp bool, tell func(line string)) error {
	s, err := find(name)
	if err != nil {
		return err
	}
	if s.repair == nil {
		return andon.Errorf(andon.Unsupported,
			"the store %s has no files of its own that could be repaired", name)
	}
	return s.repair(c, giveUp, tell)
}

// Designs returns the designs that a store can find devices by state with; none where there is
// nothing to choose.
func Designs(name string) []string {
	s, err := find(name)
	if err != nil || s.designs == nil {
		return nil
	}
	return s.designs()
}
