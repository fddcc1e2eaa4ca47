// Package bench measures a store in process: it lets a fleet report, asks what people ask, and does
// the same writes on the baseline in turn, because a figure of one machine says little without a
// ceiling beside it. It knows the contract of andon.Store and no engine; clock and stores are
// passed in.
//
// What it does is the same for the same options, but for how much of it fits into the time. It
// works in a throwaway tenant.
package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/andonhq/andon"
)

// Options are what is measured. Now must be given, and so must each number but Seed.
type Options struct {
	Now      func() time.Time // the clock to measure with
	Tenant   andon.TenantID   // the throwaway tenant; it must not be there
	Keep     bool             // do not delete the tenant
	Seed     uint64           // another one makes another fleet
	Devices  int              // at least MinDevices
	Events   int              // before anything is measured, at least one of each device
	Writers  int              // of one event each, at once
	Batch    int              // events of a batch
	Duration time.Duration    // of each load
	Loads    []string         // kinds of loads; empty: all
	Soak     int              // events of the soak; 0: as many as fit into ten times Duration
	// Rest is how long to wait at most before a load until no server is busy with what earlier
	// loads have left it to do; 0: not at all.
	Rest time.Duration
	// Told hears how far the run is. It may be called concurrently and must return at once.
	Told func(Step)
}

// MinDevices is the smallest fleet that has devices in all states.
const MinDevices = 10

// Step is how far a run is.
type Step struct {
	Load   string
	Number int     // of the load, from 1
	Of     int     // loads
	Done   float64 // of the load, 0 to 1
}

// Subject is an open store that is measured. What it can do beyond the contract is nil where it
// can't.
type Subject struct {
	Name  string
	Store andon.Store
	// Ceiling opens the engine alone, as adapter.Files has it; nil where there is none.
	Ceiling func() (
		keep func(context.Context, []andon.Event) error, end func() error, err error,
	)
}

// Row is what one load came to. What is nil was not measured.
type Row struct {
	Subject string `json:"subject"`
	Load    string `json:"load"`
	// InFlight is how many operations were under way at once.
	InFlight int           `json:"in_flight"`
	Ops      int64         `json:"ops"`
	OpsRate  float64       `json:"ops_per_second"`
	P50      time.Duration `json:"p50_ns"`
	P99      time.Duration `json:"p99_ns"`
	P999     time.Duration `json:"p999_ns"`
	// EventsRate is events written in a second; nil where nothing is written.
	EventsRate *float64 `json:"events_per_second"`
	// CeilingRate is events written in a second by the baseline, in the same run.
	CeilingRate *float64 `json:"ceiling_events_per_second"`
	// OfCeiling is the median of what each spell reached of the baseline's in the same turn.
	OfCeiling *float64 `json:"of_ceiling"`
	// OfRaw is, likewise, what a server reached of its engine alone, in process.
	OfRaw *float64 `json:"of_raw,omitempty"`
	// CeilingP50 and CeilingP99 are the baseline's, where waiting is what is measured.
	CeilingP50 *time.Duration `json:"ceiling_p50_ns"`
	CeilingP99 *time.Duration `json:"ceiling_p99_ns"`
	// BytesPerEvent is what the store grew on its disk by.
	BytesPerEvent *float64 `json:"bytes_per_event"`
	// Open says that operations began at their time, and what they took counts from then on.
	Open bool `json:"open_loop,omitempty"`
	// CPU is the processor time of a server for one event that is written, or for one question.
	CPU *time.Duration `json:"cpu_ns,omitempty"`
	// WrittenPerEvent is the bytes that a server wrote into all its files.
	WrittenPerEvent *float64 `json:"written_per_event,omitempty"`
	// Memory is the resident memory of a server behind the load.
	Memory *int64 `json:"memory_bytes,omitempty"`

	rates []float64 // of its spells
}

// Measure runs all loads on a subject: it fills the store, asks, and writes on. The rows that were
// measured before an error are returned with it. Nothing is left in the store, unless Keep is set,
// also when the context ends.
func Measure(ctx context.Context, s Subject, o Options) (rows []Row, err error) {
	if err := errors.Join(o.Check(), o.CheckLoads(StoreLoads())); err != nil {
		return nil, err
	}
	r := &run{Options: o, subject: s, fleet: newFleet(o.Seed, o.Devices, o.Events/o.Devices)}
	if _, err := s.Store.PutTenant(ctx, andon.NewTenant(o.Tenant)); err != nil {
		return nil, fmt.Errorf("make the tenant of the run: %w", err)
	}
	defer func() { err = errors.Join(err, r.tidy(ctx)) }()
	end, err := r.openBaseline()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	loads := r.loads()
	for i, l := range loads {
		r.step = Step{Load: l.name, Number: i + 1, Of: len(loads)}
		row, err := l.measure(ctx)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", l.name, err)
		}
		row.Subject, row.Load = s.Name, l.name
		rows = append(rows, row)
	}
	return rows, nil
}

// Check reports as Invalid what no run can be made of.
func (o *Options) Check() error {
	for _, n := range []struct {
		name        string
		value, most int
		least       int
	}{
		{"devices", o.Devices, 10_000_000, MinDevices},
		{"events", o.Events, 1_000_000_000, o.Devices},
		{"writers", o.Writers, 4096, 1},
		{"batch", o.Batch, andon.MaxRequestEntries, 1},
		{"soak", o.Soak, 1_000_000_000, 0},
	} {
		if n.value < n.least || n.value > n.most {
			return andon.Errorf(andon.Invalid, "%s %s is not within %s to %s",
				n.name, grouped(n.value), grouped(n.least), grouped(n.most))
		}
	}
	if o.Duration <= 0 {
		return andon.Errorf(andon.Invalid, "duration %s is not above 0", o.Duration)
	}
	return nil
}

type run struct {
	Options
	subject  Subject
	baseline keeper // nil where the store has none
	fleet    *fleet
	round    int // of the fleet: the first that nothing was written of
	step     Step
}

type load struct {
	name    string
	measure func(context.Context) (Row, error)
}

func (r *run) loads() []load {
	var loads []load
	add := func(kind string, more ...load) {
		if r.wants(kind) {
			loads = append(loads, more...)
		}
	}
	writes := r.writes()
	add(kindFill, r.fill())
	add(kindQuestions, r.asks()...)
	add(kindSingle, writes[0])
	add(kindBatch, writes[1:]...)
	add(kindImport, r.beside())
	add(kindQuestions, r.asking("devices in a state that most left", r.askLeft))
	return loads
}

// tell says how far the present load is.
func (r *run) tell(done float64) {
	if r.Told != nil {
		step := r.step
		step.Done = done
		r.Told(step)
	}
}

func (r *run) openBaseline() (func() error, error) {
	if r.subject.Ceiling == nil {
		return func() error { return nil }, nil
	}
	keep, end, err := r.subject.Ceiling()
	if andon.KindOf(err) == andon.Unsupported {
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the ceiling: %w", err)
	}
	r.baseline = func(ctx context.Context, _ andon.Time, events []andon.Event) error {
		return keep(ctx, events)
	}
	return end, nil
}

func (r *run) tidy(ctx context.Context) error {
	if r.Keep {
		return nil
	}
	if err := r.subject.Store.DeleteTenant(context.WithoutCancel(ctx), r.Tenant); err != nil {
		return fmt.Errorf("delete tenant %s: %w", r.Tenant, err)
	}
	return nil
}

// size returns how many bytes the store has on its disk; not known where it can't say.
func (r *run) size(ctx context.Context) (bytes int64, known bool, err error) {
	bytes, err = r.subject.Store.Size(ctx)
	if andon.KindOf(err) == andon.Unsupported {
		return 0, false, nil
	}
	return bytes, err == nil, err
}

// grown does some writing, which returns how many events it wrote, and notes what each of them took
// on the disk. Where the store became smaller, because it tidied up meanwhile, nothing is noted.
func (r *run) grown(ctx context.Context, row *Row, write func() (events int64, err error)) error {
	before, known, err := r.size(ctx)
	if err != nil {
		return err
	}
	events, err := write()
	if err != nil || !known {
		return err
	}
	after, _, err := r.size(ctx)
	if err == nil && after > before && events > 0 {
		row.BytesPerEvent = new(float64(after-before) / float64(events))
	}
	return err
}
