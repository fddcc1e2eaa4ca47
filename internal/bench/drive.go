package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon/internal/sleep"
)

// job is an operation that is done again and again, with rising numbers.
type job struct {
	callers int
	next    *atomic.Int64 // the number of the next operation
	most    int64         // how many numbers there are; 0: as many as fit into the time
	length  time.Duration // after which no operation is begun; 0: until the numbers end
	// due is when an operation is to begin, from the beginning of the job on. What it takes counts
	// from then on, also where no caller was free. Nil: as soon as a caller is free.
	due  func(n int64) time.Duration
	over <-chan struct{} // once it is closed, no operation behind the first is begun
	do   func(ctx context.Context, n int64, w *stopwatch) error
}

// spell is what a job came to in one go.
type spell struct {
	took  time.Duration
	times histogram // of the operations
}

func (s *spell) rate() float64 {
	return float64(s.times.total) / max(s.took, time.Nanosecond).Seconds()
}

type stopwatch struct {
	now   func() time.Time
	open  bool // it measures from when an operation was due
	begun time.Time
	times histogram
}

// start starts again: an operation that has something to prepare calls it then.
func (w *stopwatch) start() {
	if !w.open {
		w.begun = w.now()
	}
}

// until waits for the time from which on it measures, which may be past. It says whether that came.
func (w *stopwatch) until(ctx context.Context, due time.Time, over <-chan struct{}) bool {
	w.begun = due
	wait := due.Sub(w.now())
	if wait <= 0 {
		return true
	}
	ended, err := sleep.Until(ctx, over, wait)
	return !ended && err == nil
}

// stop counts the time since start, and returns what time it is.
func (w *stopwatch) stop() time.Time {
	now := w.now()
	w.times.add(now.Sub(w.begun))
	return now
}

// drive does a job with all of its callers, each of them once at least, and waits for all: what is
// under way when the time is up counts, and so does the time that it takes. The first error ends
// it.
func (r *run) drive(ctx context.Context, j job) (*spell, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	watches := make([]stopwatch, j.callers)
	begun := r.Now()
	var running sync.WaitGroup
	for i := range watches {
		watches[i].now, watches[i].open = r.Now, j.due != nil
		running.Go(func() {
			if err := j.repeat(ctx, &watches[i], begun); err != nil {
				fail(err)
			}
		})
	}
	running.Wait()
	if j.most > 0 { // callers also took numbers that they found to be too high
		j.next.Store(min(j.next.Load(), j.most))
	}
	s := &spell{took: r.Now().Sub(begun)}
	if j.due != nil { // else one that is done early would have a higher rate than was asked for
		s.took = max(s.took, j.length)
	}
	for i := range watches {
		s.times.merge(&watches[i].times)
	}
	return s, context.Cause(ctx)
}

func (j *job) repeat(ctx context.Context, w *stopwatch, begun time.Time) error {
	for ctx.Err() == nil {
		n := j.next.Add(1) - 1
		if j.most > 0 && n >= j.most {
			return nil
		}
		w.start()
		if j.due != nil {
			due := j.due(n)
			if j.length > 0 && due >= j.length || !w.until(ctx, begun.Add(due), j.over) {
				return nil
			}
		}
		if err := j.do(ctx, n, w); err != nil {
			return err
		}
		now := w.stop()
		if j.length > 0 && now.Sub(begun) >= j.length || ended(j.over) {
			return nil
		}
	}
	return nil
}

// ended says whether a channel is closed.
func ended(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// note puts into a row what spells of one job came to: the median of their rates, so that a spell
// in which the machine was busy otherwise does not count, and the times of all operations.
func (r *Row) note(callers int, spells []*spell) {
	var all histogram
	r.rates = make([]float64, len(spells))
	for i, s := range spells {
		all.merge(&s.times)
		r.rates[i] = s.rate()
	}
	r.InFlight, r.Ops, r.OpsRate = callers, all.total, median(r.rates)
	r.P50, r.P99, r.P999 = all.quantile(0.5), all.quantile(0.99), all.quantile(0.999)
}

// of is what a row reached of another one: the median of what each spell reached of the other's
// spell in the same turn.
func (r *Row) of(ceiling *Row) float64 {
	parts := make([]float64, len(r.rates))
	for i, rate := range r.rates {
		parts[i] = rate / ceiling.rates[i]
	}
	return median(parts)
}
