// Package adapter is the contract between the adapters of stores and the program: what an adapter
// says about itself, which settings it has, and how its store is opened. An ability that only some
// adapters have is a separate interface. The package must not know an engine.
package adapter

import (
	"context"
	"log/slog"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/plan"
)

// Engine is one kind of store, with settings that it is opened as.
type Engine interface {
	// Name is what the setting "store" chooses it by, and the name of its group of settings.
	Name() string
	// Place says where its stores keep what they have.
	Place() Place
	// Settings are bound to the Engine, which holds their defaults until they are set.
	Settings() config.Group
	// Open opens a store. What is wrong with the settings is Invalid, a store that can't be reached
	// is Unavailable.
	Open(ctx context.Context, e Env) (andon.Store, error)
}

// Place says where a store keeps what it has, and so who shares it.
type Place int

// The places of stores.
const (
	Elsewhere Place = iota // on other machines: several processes may have it open
	Directory              // in Env.Dir: one process at a time has it open
	Memory                 // in the process
)

// String says what follows from the place, for the help.
func (p Place) String() string {
	return [...]string{"shared, durable", "embedded, durable", "lost at the end"}[p]
}

// Env is what every store is opened with; each takes what concerns it. Log and Now must be given.
type Env struct {
	Log   *slog.Logger
	Now   func() andon.Time // the clock
	Dir   string            // directory of an embedded store
	Owner string            // what this process says of itself to another one that opens Dir
	// Fatal is told that the disk failed; it must end the process.
	Fatal func(error)
	// Ordered is told how long each write waited for its turn, where writes go one by one, and how
	// long it took. It must return at once.
	Ordered func(waited, took time.Duration)
	// AnyDesign opens the store in the design that it has, whichever the settings name.
	AnyDesign bool
}

// Checker is an engine that can't be opened with all settings that are well each by itself.
type Checker interface {
	// Check reports as Invalid what Open would refuse without asking another machine.
	Check() error
}

// Initer is an engine whose stores have a schema, which is made before they are opened.
type Initer interface {
	// Init makes the schema, or what is missing of it, and may be repeated. tell is given each
	// statement before it is run; with DryRun each that would be run.
	Init(ctx context.Context, e Env, s Setup, tell func(statement string)) error
}

// Setup is what a schema is made with.
type Setup struct {
	Replication string // "3", "dc1:3,dc2:2"; "" for what the settings or the engine say
	// Retention and ReadingsRetention are the longest that any tenant may keep events and readings;
	// nil: what the schema has stays, and a new one has the engine's own default.
	Retention, ReadingsRetention *andon.Retention
	DryRun                       bool // tell what would be done, and do nothing
	RemoveIndexes                bool // delete optional indexes that the settings do not name
}

// Templater is an engine whose schema can be made by a tool that describes infrastructure.
type Templater interface {
	// Formats are the names of the tools, and Capacities the ways to pay for a store.
	Formats() []string
	Capacities() []string
	// Template prints the schema for one of the tools, with what watches over it. A capacity that
	// is "" is as the settings have it. It asks no other machine.
	Template(format, capacity string) (string, error)
}

// Repairer is an engine that can give up what is damaged of a store in Env.Dir.
type Repairer interface {
	// Repair tells what is damaged and what giving it up costs, and with giveUp does it. No process
	// may have the store open.
	Repair(e Env, giveUp bool, tell func(line string)) error
}

// Copier is an engine whose store in Env.Dir is files that can be copied.
type Copier interface {
	// Copy has take copy the files of the store, by their names in dir. No process may have the
	// store open, and none opens it meanwhile. Nothing is changed.
	Copy(e Env, take func(dir string, files []string) error) error
}

// Verifier is an engine that can check all that a store in Env.Dir has.
type Verifier interface {
	// Verify reads all of the store, tells what is damaged, where and what that means, and returns
	// how many rows it has read, by what they are. No process may have the store open, and none
	// opens it meanwhile. Nothing is changed. An error is that it could not go on.
	Verify(
		ctx context.Context, e Env, tell func(place, what string),
		progress func(done, total int64),
	) (rows map[string]int64, err error)
}

// Designer is an engine that can find devices by state in several ways.
type Designer interface {
	Designs() []string
}

// Planned is an engine that can say what its store makes of the traffic of a fleet, in each of its
// layouts.
type Planned interface {
	// Layouts asks no other machine. It is told what one device sends.
	Layouts(plan.Sample) ([]plan.Layout, error)
}

// Frugal is an engine whose settings say what its store takes of this machine.
type Frugal interface {
	Takes() Takes
}

// Takes is what a store takes of this machine.
type Takes struct {
	Cache   Amount // memory, for what is in Env.Dir
	Newest  Amount // memory, for what is not yet where it stays there
	Reserve Amount // of the disk of Env.Dir, left free
}

// Amount is a number of bytes, and the setting that says it.
type Amount struct {
	Bytes int64
	Key   string
}
