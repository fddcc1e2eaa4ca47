// Package bench measures stores and servers: a made-up fleet reports to them and queries them. It
// measures several targets in turn under the same load, because a figure of one machine says little
// without a ceiling of the same run. It knows the contract of andon.Store and the HTTP API, and no
// engine; clock and targets are passed in.
//
// The operations are the same for the same options; how many of them fit into the time differs.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

// Options are what is measured. Now must be given, and so must each number but Seed and Pause.
type Options struct {
	Now      func() time.Time // the clock to measure with
	Seed     uint64           // another one makes another fleet
	Devices  int              // at least MinDevices
	Events   int              // before anything is measured, at least one of each device
	Writers  int              // that append single events concurrently
	Batch    int              // events of a batch
	Duration time.Duration    // of each load
	Kinds    []string         // of loads after the filling; empty: all
	Escalate bool             // some warnings are escalated to a supervisor
	Mixed    bool             // the fleet is as real ones are, and harder work: see mixed
	Pause    time.Duration    // after a load that writes: targets finish background work
	// Report is called with the progress of the run. It may be called concurrently and must return
	// at once.
	Report func(Step)
}

// MinDevices is the smallest fleet that has devices in all states.
const MinDevices = 10

// Step is the progress of a run.
type Step struct {
	Load   string
	Number int     // of the load, from 1
	Loads  int     // of the run
	Done   float64 // of the load, 0 to 1
}

// Target is what is measured: a store, a server, or the ceiling of another target.
type Target struct {
	Name string
	// Dial opens what one caller sends through.
	Dial func(ctx context.Context) (Conn, error)
	// Usage returns what the target has used until now, for a load that writes or that does not.
	// Nil: it does not say.
	Usage func(ctx context.Context, writes bool) (Usage, error)
	// Filled checks that the target shows the fleet after it has reported its past, and waits until
	// it does. Nil: that is not checked.
	Filled  func(ctx context.Context, want map[andon.State]int) error
	Queries bool // it answers queries
}

// Conn is what one caller sends through.
type Conn interface {
	// Append stores events, and returns once they are durable. It calls begin when it has prepared
	// the request: the time is measured from there.
	Append(ctx context.Context, events []andon.Event, begin func()) error
	Close() error
}

// Usage is what a target has used since it was started. What it does not say is 0.
type Usage struct {
	CPU     time.Duration
	Memory  int64 // resident, now
	Written int64 // bytes, into all files
	Kept    int64 // bytes of all files, now
}

// Load is one kind of operation, which is repeated for some time. Either Part or Do is set.
type Load struct {
	Kind, Name string // without a name it is not measured
	Callers    int    // that operate concurrently
	Items      int    // events, or readings, that an operation writes; 0: it is a query
	// Part is what the n-th operation appends of the fleet. Its rounds, or its events, count from
	// the first one of which nothing has been written.
	Part func(n int64) Part
	Do   func(ctx context.Context, c Conn, n int64, begin func()) error
	// Takes selects targets; nil: all.
	Takes func(*Target) bool
	// Ops is how many operations there are; 0: as many as fit into the time.
	Ops int64
	// Share is set for operations that begin at a fixed rate: this share of the rate that the
	// target reached with the last load of that kind. What each takes counts from when it was due.
	Share float64
	Once  bool // it is measured in one turn
	// With is put on the target concurrently, Rate operations a second, as long as this load lasts.
	// It has a row of its own.
	With *Load
	Rate float64
}

// Bench is one run.
type Bench struct {
	Options
	fleet   *fleet
	targets []Target
	mixed   *mixed // of fleet; nil: it is another one
	written Part   // its round and event are the first of which nothing has been written
	step    Step
	rates   map[string]float64 // operations a second, by kind and target
}

// New prepares a run. Options that it can't use are Invalid.
func New(o Options, targets ...Target) (*Bench, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	f := newFleet(o.Seed, o.Devices, o.Events/o.Devices)
	f.escalate = o.Escalate
	b := &Bench{Options: o, targets: targets, fleet: f, rates: map[string]float64{}}
	if o.Mixed {
		b.mixed = newMixed(o.Seed, f, o.Events)
	}
	return b, nil
}

func (o *Options) check() error {
	for _, n := range []struct {
		name               string
		value, least, most int
	}{
		{"devices", o.Devices, MinDevices, 10_000_000},
		{"events", o.Events, o.Devices, 1_000_000_000},
		{"writers", o.Writers, 1, 4096},
		{"batch", o.Batch, 1, andon.MaxRequestEntries},
		{"duration", int(o.Duration), 1, 1 << 62},
	} {
		if n.value < n.least || n.value > n.most {
			return andon.Errorf(andon.Invalid, "%s %s is not within %s to %s",
				n.name, grouped(n.value), grouped(n.least), grouped(n.most))
		}
	}
	return nil
}

// Measure runs loads of the wanted kinds. The rows that were measured before an error are returned
// with it: for each load one of each target, in their order.
func (b *Bench) Measure(ctx context.Context, loads []Load) (rows []Row, err error) {
	loads = slices.DeleteFunc(slices.Clone(loads), func(l Load) bool {
		wanted := l.Kind == Fill || len(b.Kinds) == 0 || slices.Contains(b.Kinds, l.Kind)
		return !wanted || len(b.lanes(&l)) == 0
	})
	for i := range loads {
		l := &loads[i]
		b.step = Step{Load: cmp.Or(l.Name, l.Kind), Number: i + 1, Loads: len(loads)}
		b.report(0)
		if i > 0 && loads[i-1].Items > 0 {
			if err := sleep.For(ctx, b.Pause); err != nil {
				return rows, err
			}
		}
		found, err := b.measure(ctx, l)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", b.step.Load, err)
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

func (b *Bench) report(done float64) {
	if b.Report != nil {
		step := b.step
		step.Done = done
		b.Report(step)
	}
}

// turns is how often each target is measured under a load.
const turns = 5

type lane struct {
	*Target
	load   *Load
	next   atomic.Int64 // the number of its next operation
	before Usage
	turns  []*turn
	with   *lane // of the load that is concurrent; nil: there is none
}

func (b *Bench) lanes(l *Load) (lanes []*lane) {
	for i := range b.targets {
		if t := &b.targets[i]; l.Takes == nil || l.Takes(t) {
			lanes = append(lanes, &lane{Target: t, load: l})
		}
	}
	return lanes
}

// measure puts a load on the targets in turn, because the speed of a machine changes within
// seconds. Every second turn goes the other way round, so that no target always follows the one
// that leaves most work in the background. What a target does while others have their turn counts
// as used by its operations: it has deferred it. A first turn is not counted, unless the number of
// operations is fixed.
func (b *Bench) measure(ctx context.Context, l *Load) (rows []Row, err error) {
	lanes := b.lanes(l)
	for _, n := range lanes {
		if n.before, err = n.usage(ctx, l.Items > 0); err != nil {
			return nil, fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	first, last := -1, turns
	if l.Ops > 0 {
		first, last = 0, int(min(turns, l.Ops))
	}
	if l.Once {
		first, last = 0, 1
	}
	all := slices.Clone(lanes)
	for i := first; i < last; i++ {
		b.report(float64(i-first) / float64(last-first))
		for _, n := range lanes {
			t := b.turn(n, i, last)
			if i >= 0 {
				n.turns = append(n.turns, t)
			}
			if err := b.driveWith(ctx, t); err != nil {
				return nil, fmt.Errorf("%s: %w", n.Name, err)
			}
		}
		slices.Reverse(lanes)
	}
	rows, err = b.rows(ctx, l, all)
	for _, n := range all {
		if n.with != nil && err == nil {
			var row Row
			row, err = n.with.row(ctx)
			rows = append(rows, row)
		}
	}
	return rows, err
}

// driveWith is drive of a turn and of what is put on its target concurrently.
func (b *Bench) driveWith(ctx context.Context, t *turn) error {
	l := t.load.With
	if l == nil {
		return b.drive(ctx, t)
	}
	if t.with == nil {
		target := *t.Target
		target.Usage = nil // what is used is mostly that of the other load
		t.with = &lane{Target: &target, load: l}
	}
	const long = 1_000_000 * time.Hour
	with := &turn{
		lane: t.with, length: long, gap: time.Duration(float64(time.Second) / l.Rate),
	}
	t.with.turns = append(t.with.turns, with)
	failed := make(chan error, 1)
	go func() { failed <- b.drive(ctx, with) }()
	err := b.drive(ctx, t)
	with.over.Store(true)
	return errors.Join(err, <-failed)
}

func (b *Bench) rows(ctx context.Context, l *Load, lanes []*lane) (rows []Row, err error) {
	used := b.written
	for _, n := range lanes {
		row, err := n.row(ctx)
		if err == nil && l.Kind == Fill && l.Name != "" && n.Filled != nil {
			err = n.Filled(ctx, b.counts())
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Name, err)
		}
		b.rates[l.Kind+" "+n.Name] = row.OpsRate
		if l.Part != nil && n.next.Load() > 0 {
			last := l.Part(n.next.Load() - 1)
			used.Round = max(used.Round, b.written.Round+last.Round+last.Rounds)
			used.Event = max(used.Event, b.written.Event+last.Event+last.Events)
		}
		if l.Name != "" {
			rows = append(rows, row)
		}
	}
	b.written = used
	return rows, nil
}

// counts returns how many devices are in each state after the filling.
func (b *Bench) counts() map[andon.State]int {
	if b.mixed != nil {
		return b.mixed.counts(b.Events)
	}
	return b.fleet.counts()
}

func (b *Bench) turn(n *lane, number, last int) *turn {
	l, t := n.load, &turn{lane: n, length: b.Duration / turns}
	if l.Once {
		t.length = b.Duration
	}
	if l.Ops > 0 {
		t.length, t.end = 0, l.Ops*int64(number+1)/int64(last)
	}
	if l.Share > 0 {
		t.gap = time.Duration(float64(time.Second) / (b.rates[l.Kind+" "+n.Name] * l.Share))
	}
	return t
}
