package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// singleWriters is how many single events are written at once beside an import.
const singleWriters = 8

// beside writes single events while an import goes on, as fast as it can, from batchWriters: to the
// store and to the bare engine in turn. What is measured is how long the single events take.
func (r *run) beside() load {
	size := min(r.Batch, r.Devices)
	name := fmt.Sprintf("write: 1 event beside an import by %s", events(size))
	return load{name, func(ctx context.Context) (row Row, err error) {
		var singles, imported atomic.Int64
		var ours, ceiling []*spell
		err = r.grown(ctx, &row, func() (int64, error) {
			for i := range 1 + spells {
				r.tell(float64(i) / (1 + spells))
				s, err := r.besideImport(ctx, size, r.keep, &singles, &imported)
				if err != nil {
					return 0, err
				}
				ours = append(ours, s)
				if r.bare == nil {
					continue
				}
				var n, m atomic.Int64
				n.Store(singles.Load())
				m.Store(imported.Load())
				if s, err = r.besideImport(ctx, size, r.bare, &n, &m); err != nil {
					return 0, err
				}
				ceiling = append(ceiling, s)
			}
			return singles.Load() + imported.Load()*int64(size), nil
		})
		if err != nil {
			return row, err
		}
		r.round += 2 * (int(imported.Load())/(r.Devices/size) + int(singles.Load())/r.Devices + 2)
		row.note(singleWriters, ours[1:])
		row.compare(1, ours[1:], ceiling[min(1, len(ceiling)):])
		if len(ceiling) > 1 {
			var bare Row
			bare.note(singleWriters, ceiling[1:])
			row.CeilingP50, row.CeilingP99 = new(bare.P50), new(bare.P99)
		}
		return row, nil
	}}
}

// besideImport is one go. The import writes even rounds and the single events odd ones, so that no
// entry is written twice.
func (r *run) besideImport(
	ctx context.Context, size int, keep keeper, singles, imported *atomic.Int64,
) (*spell, error) {
	importing, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	groups := r.Devices / size
	go func() {
		_, err := r.drive(importing, job{
			callers: batchWriters, next: imported,
			do: func(ctx context.Context, n int64, w *stopwatch) error {
				part := slice{device: int(n) % groups * size, devices: size, rounds: 1}
				part.round = r.round + 2*(int(n)/groups)
				// A batch that was begun is ended: only between them the import stops.
				return keep(context.WithoutCancel(ctx), base, r.fleet.events(part))
			},
		})
		done <- err
	}()
	s, err := r.drive(ctx, job{
		callers: singleWriters, next: singles, length: r.Duration / spells,
		do: func(ctx context.Context, n int64, w *stopwatch) error {
			part := slice{device: r.fleet.turns.at(int(n) % r.Devices), devices: 1, rounds: 1}
			part.round = r.round + 2*(int(n)/r.Devices) + 1
			one := r.fleet.events(part)
			w.start()
			return keep(ctx, base, one)
		},
	})
	stop()
	if ended := <-done; err == nil && !errors.Is(ended, context.Canceled) {
		err = ended
	}
	return s, err
}
