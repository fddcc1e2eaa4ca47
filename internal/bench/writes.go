package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

const (
	batchWriters = 4 // batches at once
	spells       = 5 // of each write load, the baseline's in between
	rowsOfDevice = 100
)

// keeper keeps events, as a store or as a baseline.
type keeper func(ctx context.Context, received andon.Time, events []andon.Event) error

// keep does what the intake does with events that it has admitted, again where the store is busy,
// as a client does.
func (r *run) keep(ctx context.Context, received andon.Time, events []andon.Event) error {
	for {
		err := r.subject.Store.Append(ctx, r.Tenant, received, events)
		if andon.KindOf(err) != andon.Busy {
			return err
		}
	}
}

// fill lets the fleet report for as long as its past is, in batches of many devices: first to the
// store, then to the baseline, so that both have as much to care for when the rest is measured.
func (r *run) fill() load {
	size := min(r.Batch, r.Devices)
	batches := (r.Devices + size - 1) / size // of a round; the last of them may be smaller
	name := fmt.Sprintf("fill: %s of %s", events(size), devices(size))
	return load{name, func(ctx context.Context) (row Row, err error) {
		var ours, ceiling []*spell
		err = r.grown(ctx, &row, func() (int64, error) {
			s, err := r.writePast(ctx, size, r.keep)
			ours = append(ours, s)
			return int64(r.Devices*(r.fleet.past-busyRounds) + busyDevices*busyRounds), err
		})
		if err == nil && r.baseline != nil {
			var s *spell
			s, err = r.writePast(ctx, size, r.baseline)
			ceiling = append(ceiling, s)
		}
		if err != nil {
			return row, err
		}
		r.round = r.fleet.past
		row.note(batchWriters, ours)
		row.compare(float64(r.Devices)/float64(batches), ceiling)
		return row, r.awaitShown(ctx)
	}}
}

// writePast keeps what the fleet reports before anything else is measured.
func (r *run) writePast(ctx context.Context, size int, keep keeper) (*spell, error) {
	for i := range busyDevices {
		own := slice{device: r.fleet.busy(i), devices: 1, rounds: busyRounds}
		if err := keep(ctx, base, r.fleet.events(own)); err != nil {
			return nil, err
		}
	}
	batches := (r.Devices + size - 1) / size
	most := int64(r.fleet.past-busyRounds) * int64(batches)
	return r.drive(ctx, job{
		callers: batchWriters, next: new(atomic.Int64), most: most,
		do: func(ctx context.Context, n int64, w *stopwatch) error {
			r.tell(float64(n) / float64(most))
			first := int(n) % batches * size
			part := r.fleet.events(slice{
				device: first, devices: min(size, r.Devices-first),
				round: busyRounds + int(n)/batches, rounds: 1,
			})
			w.start()
			return keep(ctx, base, part)
		},
	})
}

// awaitShown waits until the store shows what was written to it. Where it never does, there is
// nothing worth measuring.
func (r *run) awaitShown(ctx context.Context) error {
	const patience, pause = 2 * time.Minute, 200 * time.Millisecond
	begun := r.Now()
	for {
		err := r.checkCounts(ctx)
		late := r.Now().Sub(begun) > patience || r.subject.Store.Capabilities().Immediate
		if err == nil || late {
			return err
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}

func (r *run) checkCounts(ctx context.Context) error {
	want := map[andon.State]int{"NORMAL": r.fleet.rest()}
	for _, h := range r.fleet.homes {
		want[h.state] = h.devices
	}
	counts, err := r.subject.Store.Counts(ctx, r.Tenant, 0)
	if err != nil {
		return err
	}
	for _, c := range counts {
		want[c.State] -= c.Count
	}
	for state, missing := range want {
		if missing != 0 {
			return andon.Errorf(andon.Internal,
				"the store is wrong: it counts %d devices too few in %s", missing, state)
		}
	}
	return nil
}

type writeLoad struct{ writers, devices, rounds int }

func (r *run) writes() (loads []load) {
	spread := min(r.Batch, r.Devices)
	narrow := min(max(r.Batch/rowsOfDevice, 1), r.Devices)
	for _, l := range []writeLoad{
		{r.Writers, 1, 1},
		{batchWriters, narrow, max(r.Batch/narrow, 1)},
		{batchWriters, spread, 1},
	} {
		name := fmt.Sprintf("write: %s of %s", events(l.devices*l.rounds), devices(l.devices))
		loads = append(loads, load{name, func(ctx context.Context) (Row, error) {
			return r.measureWrites(ctx, l)
		}})
	}
	return loads
}

// part returns the n-th operation of a load that begins with a round.
func (r *run) part(l writeLoad, n int64, round int) slice {
	groups := r.Devices / l.devices
	first := int(n) % groups * l.devices
	if l.devices == 1 {
		first = r.fleet.turns.at(first)
	}
	return slice{
		device: first, devices: l.devices,
		round: round + int(n)/groups*l.rounds, rounds: l.rounds,
	}
}

func (r *run) measureWrites(ctx context.Context, l writeLoad) (row Row, err error) {
	size, round := l.devices*l.rounds, r.round
	written := func(t *turn) int64 { return t.next.Load() * int64(size) }
	ours, baseline, err := r.inTurn(ctx, &row, written, func(t *turn) (*spell, error) {
		return r.drive(ctx, job{
			callers: l.writers, next: &t.next, length: r.Duration / spells,
			do: func(ctx context.Context, n int64, w *stopwatch) error {
				part := r.fleet.events(r.part(l, n, round))
				w.start()
				return t.keep(ctx, base, part)
			},
		})
	})
	if err != nil {
		return row, err
	}
	most := max(ours.next.Load(), baseline.next.Load())
	r.round += (int(most)/(r.Devices/l.devices) + 1) * l.rounds
	row.note(l.writers, ours.spells)
	row.compare(float64(size), baseline.spells)
	return row, nil
}

// turn is one of those who write in turn.
type turn struct {
	keep           keeper
	next, imported atomic.Int64 // the next operation, and that of an import beside it
	spells         []*spell
}

// inTurn lets the store and the baseline, where there is one, write in turn, the same events in
// the same order, so that both meet the same moods of the machine. The first go of each does not
// count: what is new to them then is not what is asked about. written says how many events a turn
// has written.
func (r *run) inTurn(
	ctx context.Context, row *Row, written func(*turn) int64, write func(*turn) (*spell, error),
) (ours, baseline *turn, err error) {
	ours, baseline = &turn{keep: r.keep}, &turn{keep: r.baseline}
	err = r.grown(ctx, row, func() (int64, error) {
		for i := range 1 + spells {
			r.tell(float64(i) / (1 + spells))
			for _, t := range []*turn{ours, baseline} {
				if t.keep == nil {
					continue
				}
				s, err := write(t)
				if err != nil {
					return 0, err
				}
				if i > 0 {
					t.spells = append(t.spells, s)
				}
			}
		}
		return written(ours), nil
	})
	return ours, baseline, err
}

// compare notes events in a second, and what of the ceiling that is.
func (r *Row) compare(events float64, ceiling []*spell) {
	r.EventsRate = new(r.OpsRate * events)
	if len(ceiling) == 0 {
		return
	}
	var c Row
	c.note(r.InFlight, ceiling)
	r.CeilingRate, r.OfCeiling = new(c.OpsRate*events), new(r.of(&c))
}

func events(n int) string  { return plural(n, "event") }
func devices(n int) string { return plural(n, "device") }

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(n) + " " + what
}
