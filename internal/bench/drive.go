package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/andonhq/andon/internal/sleep"
)

// job is the operations of a load that one target does in one turn.
type job struct {
	*lane
	length time.Duration // after which no operation begins; 0: there is no limit
	end    int64         // the first number that is not done; 0: there is no limit
	// gap is the time from one operation to the next, where they begin at a fixed rate. What an
	// operation takes counts from when it was due, also where no caller was free. 0: each begins as
	// soon as a caller is free.
	gap   time.Duration
	first int64 // the number of the first operation
	began time.Time
}

// turn is what came of a job.
type turn struct {
	took  time.Duration
	times histogram // of the operations
}

func (t *turn) rate() float64 {
	return float64(t.times.total) / max(t.took, time.Nanosecond).Seconds()
}

// caller does one operation after the other.
type caller struct {
	*Bench
	conn  Conn
	begun time.Time // the present operation
	open  bool      // the time counts from when an operation was due
	times histogram
}

// begin says that an operation begins now: what it prepared before does not count.
func (c *caller) begin() {
	if !c.open {
		c.begun = c.Now()
	}
}

// drive does a job with all of its callers, each of them at least once, and waits for all: what is
// under way when the time is up counts, and so does the time that it takes. The first error ends
// it.
func (b *Bench) drive(ctx context.Context, j job) (_ *turn, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	callers := make([]caller, j.load.Callers)
	for i := range callers {
		c := &callers[i]
		c.Bench, c.open = b, j.gap > 0
		if c.conn, err = j.Dial(ctx); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, c.conn.Close()) }()
	}
	j.first, j.began = j.next.Load(), b.Now()
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() {
			if err := callers[i].repeat(ctx, &j); err != nil {
				fail(err)
			}
		})
	}
	running.Wait()
	t := &turn{took: b.Now().Sub(j.began)}
	if j.end > 0 { // callers also took numbers that they found to be too high
		j.next.Store(min(j.next.Load(), j.end))
	}
	if j.gap > 0 { // else one that is done early would have a higher rate than was asked for
		t.took = max(t.took, j.length)
	}
	for i := range callers {
		t.times.merge(&callers[i].times)
	}
	return t, context.Cause(ctx)
}

func (c *caller) repeat(ctx context.Context, j *job) error {
	for ctx.Err() == nil {
		n := j.next.Add(1) - 1
		if j.end > 0 && n >= j.end {
			return nil
		}
		c.begun = c.Now()
		if j.gap > 0 {
			due := time.Duration(n-j.first) * j.gap
			if due >= j.length {
				return nil
			}
			c.begun = j.began.Add(due)
			if err := sleep.For(ctx, c.begun.Sub(c.Now())); err != nil {
				return err
			}
		}
		if err := c.operate(ctx, j.load, n); err != nil {
			return err
		}
		now := c.Now()
		c.times.add(now.Sub(c.begun))
		if j.length > 0 && now.Sub(j.began) >= j.length {
			return nil
		}
	}
	return nil
}

func (c *caller) operate(ctx context.Context, l *Load, n int64) error {
	if l.Do != nil {
		return l.Do(ctx, c.conn, n, c.begin)
	}
	part := l.Part(n)
	if c.mixed != nil {
		return c.conn.Append(ctx, c.mixed.events(c.written.Event+part.Event, part.Events), c.begin)
	}
	part.Round += c.written.Round
	return c.conn.Append(ctx, c.fleet.events(part), c.begin)
}
