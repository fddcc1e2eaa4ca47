// Package adapter is the contract between the adapters of stores and the program: what an adapter
// says about itself, which settings it has, how its store is opened, and what can be done to a
// store that is not open. What an open store can do next to its data is andon.Maintenance. The
// package must not know an engine.
package adapter

import (
	"context"
	"log/slog"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/plan"
)

// Engine is one kind of store, with settings that it is opened as. It has all methods: it embeds
// NoSchema, NoFiles and NoPlan where it has nothing to say to theirs.
type Engine interface {
	// Name is what the setting "store" chooses it by, and the name of its group of settings.
	Name() string
	// Place says where its stores keep what they have.
	Place() Place
	// Settings are bound to the Engine, which holds their defaults until they are set.
	Settings() config.Group
	// Check reports as Invalid what Open would refuse without asking another machine: settings that
	// are valid each by itself, but not together.
	Check() error
	// Open opens a store. What is wrong with the settings is Invalid, a store that can't be reached
	// is Unavailable.
	Open(ctx context.Context, e Env) (andon.Store, error)

	Schema
	Files
	Planning
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
	// Fatal is called when the disk failed; it must end the process.
	Fatal func(error)
	// Ordered is called, where writes are ordered one by one, with how long each waited for that
	// and how long it took. It must return at once.
	Ordered func(waited, took time.Duration)
	// AnyDesign opens the store in the design that it has, whichever the settings name.
	AnyDesign bool
}

// Schema is the part of an Engine whose stores are made before they are opened.
type Schema interface {
	// Init makes the schema, or what is missing of it, and may be repeated. report is called with
	// each statement before it is run; with DryRun with each that would be run. Unsupported where
	// there is no schema to make.
	Init(ctx context.Context, e Env, s Setup, report func(statement string)) error
	// Designs are the ways to find devices by state among which the settings choose; none where
	// there is one way.
	Designs() []string
	// Formats are the names of the tools that describe infrastructure for which there are
	// templates, and Capacities the ways to pay for a store.
	Formats() []string
	Capacities() []string
	// Template returns the schema for one of the tools, with what watches over it. A capacity that
	// is "" is as the settings have it. It asks no other machine. Unsupported without Formats.
	Template(format, capacity string) (string, error)
}

// Setup is what a schema is made with.
type Setup struct {
	Replication string // "3", "dc1:3,dc2:2"; "" for what the settings or the engine say
	// Retention and ReadingsRetention are the longest that any tenant may keep events and readings;
	// nil: what the schema has stays, and a new one has the engine's own default.
	Retention, ReadingsRetention *andon.Retention
	DryRun                       bool // report what would be done, and do nothing
	RemoveIndexes                bool // delete optional indexes that the settings do not name
}

// NoSchema is the Schema of an engine whose stores need none.
type NoSchema struct{}

// Init is Unsupported.
func (NoSchema) Init(context.Context, Env, Setup, func(statement string)) error {
	return andon.Errorf(andon.Unsupported, "the store has no schema to make")
}

// Designs returns none.
func (NoSchema) Designs() []string { return nil }

// Formats returns none.
func (NoSchema) Formats() []string { return nil }

// Capacities returns none.
func (NoSchema) Capacities() []string { return nil }

// Template is Unsupported.
func (NoSchema) Template(format, capacity string) (string, error) {
	return "", andon.Errorf(andon.Unsupported, "the store has no templates")
}

// Files is the part of an Engine that works on the files of a store in Env.Dir which no process has
// open. All of it is Unsupported where a store has no files.
type Files interface {
	// Repair reports what is damaged and what giving it up costs, and with giveUp does it.
	Repair(e Env, giveUp bool, report func(line string)) error
	// Copy has take copy the files of the store, by their names in dir. No process opens the store
	// meanwhile. Nothing is changed.
	Copy(e Env, take func(dir string, files []string) error) error
	// Verify reads all of the store, reports what is damaged, where and what that means, and
	// returns how many rows it has read, by what they are. No process opens the store meanwhile.
	// Nothing is changed. An error is that it could not go on.
	Verify(
		ctx context.Context, e Env, report func(place, what string),
		progress func(done, total int64),
	) (rows map[string]int64, err error)
	// Ceiling opens the engine alone in a directory below Env.Dir, which no other process may use.
	// keep takes the events of one request as the engine would without a store around it, as
	// durable as Log.Append, and may be called concurrently. end removes what was kept; it is
	// called once, after the last keep.
	Ceiling(e Env) (
		keep func(ctx context.Context, events []andon.Event) error, end func() error, err error,
	)
}

// NoFiles is the Files of an engine that has none.
type NoFiles struct{}

func noFiles(what string) error {
	return andon.Errorf(andon.Unsupported,
		"the store has no files of its own that could be %s", what)
}

// Repair is Unsupported.
func (NoFiles) Repair(Env, bool, func(line string)) error { return noFiles("repaired") }

// Copy is Unsupported.
func (NoFiles) Copy(Env, func(dir string, files []string) error) error { return noFiles("copied") }

// Verify is Unsupported.
func (NoFiles) Verify(
	context.Context, Env, func(place, what string), func(done, total int64),
) (map[string]int64, error) {
	return nil, noFiles("verified")
}

// Ceiling is Unsupported.
func (NoFiles) Ceiling(Env) (
	func(ctx context.Context, events []andon.Event) error, func() error, error,
) {
	return nil, nil, noFiles("compared with")
}

// Planning is the part of an Engine that says what its stores need.
type Planning interface {
	// Layouts says what a store makes of the traffic of a fleet, in each of its layouts. It asks no
	// other machine. The sample is what one device sends.
	Layouts(plan.Sample) ([]plan.Layout, error)
	// Takes says what a store takes of this machine.
	Takes() Takes
}

// NoPlan is the Planning of an engine that can't be planned and takes nothing that is set.
type NoPlan struct{}

// Layouts returns none.
func (NoPlan) Layouts(plan.Sample) ([]plan.Layout, error) { return nil, nil }

// Takes returns nothing.
func (NoPlan) Takes() Takes { return Takes{} }

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
