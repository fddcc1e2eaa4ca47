package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon/internal/sleep"
)

// turn is the operations of a load that one target does until the next target has its turn.
type turn struct {
	*lane
	length time.Duration // after which no operation begins; 0: there is no limit
	end    int64         // the first number that is not done; 0: there is no limit
	// gap is the time from one operation to the next, where they begin at a fixed rate. What an
	// operation takes counts from when it was due, also where no caller was free. 0: each begins as
	// soon as a caller is free.
	gap   time.Duration
	over  atomic.Bool // no operation begins any more
	first int64       // the number of the first operation
	began time.Time
	took  time.Duration
	times histogram // of the operations
}

func (t *turn) rate() float64 {
	return float64(t.times.total) / max(t.took, time.Nanosecond).Seconds()
}

// caller does one operation after the other.
type caller struct {
	*Bench
	*turn
	conn  Conn
	begun time.Time // the present operation
	times histogram
}

// begin says that an operation begins now: what it prepared before does not count, unless the time
// counts from when the operation was due.
func (c *caller) begin() {
	if c.gap == 0 {
		c.begun = c.Now()
	}
}

// drive does a turn with all of its callers, each of them at least once, and waits for all: what is
// under way when the time is up counts, and so does the time that it takes. The first error ends
// it.
func (b *Bench) drive(ctx context.Context, t *turn) (err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	callers := make([]caller, t.load.Callers)
	for i := range callers {
		c := &callers[i]
		c.Bench, c.turn = b, t
		if c.conn, err = t.Dial(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.conn.Close()) }()
	}
	t.first, t.began = t.next.Load(), b.Now()
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() {
			if err := callers[i].repeat(ctx); err != nil {
				fail(err)
			}
		})
	}
	running.Wait()
	t.took = b.Now().Sub(t.began)
	if t.end > 0 { // callers also took numbers that they found to be too high
		t.next.Store(min(t.next.Load(), t.end))
	}
	// Else one that is done early would have a higher rate than was asked for.
	if t.gap > 0 && !t.over.Load() {
		t.took = max(t.took, t.length)
	}
	for i := range callers {
		t.times.merge(&callers[i].times)
	}
	return context.Cause(ctx)
}

func (c *caller) repeat(ctx context.Context) error {
	for ctx.Err() == nil && !c.over.Load() {
		n := c.next.Add(1) - 1
		if c.end > 0 && n >= c.end {
			return nil
		}
		c.begun = c.Now()
		if c.gap > 0 {
			due := time.Duration(n-c.first) * c.gap
			if due >= c.length {
				return nil
			}
			c.begun = c.began.Add(due)
			if err := sleep.For(ctx, c.begun.Sub(c.Now())); err != nil {
				return err
			}
		}
		if err := c.operate(ctx, n); err != nil {
			return err
		}
		now := c.Now()
		c.times.add(now.Sub(c.begun))
		if c.length > 0 && now.Sub(c.began) >= c.length {
			return nil
		}
	}
	return nil
}

func (c *caller) operate(ctx context.Context, n int64) error {
	if c.load.Do != nil {
		return c.load.Do(ctx, c.conn, n, c.begin)
	}
	part := c.load.Part(n)
	if c.mixed != nil {
		return c.conn.Append(ctx, c.mixed.events(c.written.Event+part.Event, part.Events), c.begin)
	}
	part.Round += c.written.Round
	return c.conn.Append(ctx, c.fleet.events(part), c.begin)
}
