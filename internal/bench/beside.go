package bench

import (
	"context"
	"errors"
	"fmt"
)

// singleWriters is how many single events are written at once beside an import.
const singleWriters = 8

// beside writes single events while an import goes on, as fast as it can, from batchWriters: to the
// store and to the baseline in turn. What is measured is how long the single events take.
func (r *run) beside() load {
	size := min(r.Batch, r.Devices)
	name := fmt.Sprintf("write: 1 event beside an import by %s", events(size))
	return load{name, func(ctx context.Context) (row Row, err error) {
		written := func(t *turn) int64 { return t.next.Load() + t.imported.Load()*int64(size) }
		ours, baseline, err := r.inTurn(ctx, &row, written, func(t *turn) (*spell, error) {
			return r.besideImport(ctx, size, t)
		})
		if err != nil {
			return row, err
		}
		imported := max(ours.imported.Load(), baseline.imported.Load())
		singles := max(ours.next.Load(), baseline.next.Load())
		r.round += 2 * (int(imported)/(r.Devices/size) + int(singles)/r.Devices + 2)
		row.note(singleWriters, ours.spells)
		row.compare(1, baseline.spells)
		if len(baseline.spells) > 0 {
			var ceiling Row
			ceiling.note(singleWriters, baseline.spells)
			row.CeilingP50, row.CeilingP99 = new(ceiling.P50), new(ceiling.P99)
		}
		return row, nil
	}}
}

// besideImport is one go. The import writes even rounds and the single events odd ones, so that no
// entry is written twice.
func (r *run) besideImport(ctx context.Context, size int, t *turn) (*spell, error) {
	importing, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	groups := r.Devices / size
	go func() {
		_, err := r.drive(importing, job{
			callers: batchWriters, next: &t.imported,
			do: func(ctx context.Context, n int64, w *stopwatch) error {
				part := slice{device: int(n) % groups * size, devices: size, rounds: 1}
				part.round = r.round + 2*(int(n)/groups)
				// A batch that was begun is ended: only between them the import stops.
				return t.keep(context.WithoutCancel(ctx), base, r.fleet.events(part))
			},
		})
		done <- err
	}()
	s, err := r.drive(ctx, job{
		callers: singleWriters, next: &t.next, length: r.Duration / spells,
		do: func(ctx context.Context, n int64, w *stopwatch) error {
			part := slice{device: r.fleet.turns.at(int(n) % r.Devices), devices: 1, rounds: 1}
			part.round = r.round + 2*(int(n)/r.Devices) + 1
			one := r.fleet.events(part)
			w.start()
			return t.keep(ctx, base, one)
		},
	})
	stop()
	if ended := <-done; err == nil && !errors.Is(ended, context.Canceled) {
		err = ended
	}
	return s, err
}
