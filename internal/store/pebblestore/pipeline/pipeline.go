// Package pipeline brings the writes of a store into one order, and publishes them in that order
// once they are on the disk.
//
// A write is computed by its own goroutine, concurrently with others. Then it enters the ordered
// section, which one goroutine at a time is in. There it is compared with what others have changed
// meanwhile, gets its sequence, goes into the write-ahead log and becomes pending: the next write
// is computed from it. Outside the section it waits for the disk, and many share one fsync. When it
// is on the disk, all writes up to it are: the log is written in order. So it publishes them.
//
// Between two large writes others get their turn: of the large ones one at a time waits for the
// section, so another write waits for no more than one of them, however many there are.
//
// Contract:
//
//   - An error of the function that Do calls leaves everything as it was. What a panic in it leaves
//     is not known, so the process ends: going on could acknowledge what a restart would not find.
//   - Writes are published in the order of their sequences, each once, and before Publish
//     of a later sequence returns. Show is called with the locks of the queue and of what is shown
//     held, Notify without any lock.
//   - After Fatal nothing is written any more: what is in memory may not be what is on the disk.
//
// The package does not know what a write is (P), nor how it gets onto the disk.
package pipeline

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// Config is how writes are published.
type Config[P any] struct {
	Shown  sync.Locker // held while writes become visible
	Show   func(P)     // makes a write visible
	Notify func(P)     // wakes readers that wait for it
	Fatal  func(error) // ends the process; tests return from it
	// Entered is called with how long each write waited for the section, and how long it then was
	// in it. Nil: it is not called.
	Entered func(waited, took time.Duration)
	// Stuck is for how long one write may be in the section before Ready is an error. A write needs
	// milliseconds, and seconds where the disk is too slow.
	Stuck time.Duration
}

// Pipeline is the order of the writes of a store.
type Pipeline[P any] struct {
	Config[P]
	// Next is the sequence of the next row. It belongs to the section.
	Next uint64

	section chan struct{}         // holds one value while a write is in the section
	large   chan struct{}         // holds one value while a large write is in it, or waits for it
	entered atomic.Int64          // when, by the process's clock; 0 while the section is free
	failure atomic.Pointer[error] // of Fatal
	queue   queue[P]
}

// queue are the writes that are in the log and not published.
type queue[P any] struct {
	engine.RWMutex
	pending   []pending[P]
	published uint64 // all rows before this one are
}

type pending[P any] struct {
	sequence uint64 // of its last row
	write    P
}

// New returns a pipeline without writes.
func New[P any](c Config[P]) *Pipeline[P] {
	p := &Pipeline[P]{
		Config: c, section: make(chan struct{}, 1), large: make(chan struct{}, 1),
	}
	p.queue.Rank = engine.LockQueue
	return p
}

// Open continues at a sequence. All rows before it are on the disk and visible.
func (p *Pipeline[P]) Open(next uint64) { p.Next, p.queue.published = next, next }

// Do calls a function in the ordered section, unless the context ends before its turn comes.
func (p *Pipeline[P]) Do(ctx context.Context, large bool, do func() error) (err error) {
	waiting := engine.SinceStart()
	if large {
		if err := acquire(ctx, p.large); err != nil {
			return err
		}
		defer func() { <-p.large }()
	}
	engine.Enter(engine.LockOrder)
	defer engine.Leave(engine.LockOrder)
	if err := acquire(ctx, p.section); err != nil {
		return err
	}
	entered := engine.SinceStart()
	p.entered.Store(int64(entered))
	completed := false
	defer func() {
		if !completed {
			err = p.End(fmt.Errorf("a write panicked: %v\n%s", recover(), debug.Stack()))
		}
		p.entered.Store(0)
		<-p.section
		if p.Entered != nil {
			p.Entered(entered-waiting, engine.SinceStart()-entered)
		}
	}()
	if err = ctx.Err(); err == nil { // waiting may have taken long
		err = p.Failed()
	}
	if err == nil {
		err = do()
	}
	completed = true
	return err
}

// acquire waits until a channel has a free slot, unless the context ends before. A select with the
// context takes longer than most turns, so it tries a few times without.
func acquire(ctx context.Context, slot chan struct{}) error {
	const tries = 4
	for range tries {
		select {
		case slot <- struct{}{}:
			return nil
		default:
			runtime.Gosched()
		}
	}
	select {
	case slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Add makes a write pending that is in the log up to a sequence. It belongs to the section.
func (p *Pipeline[P]) Add(sequence uint64, write P) {
	p.Next = sequence + 1
	p.queue.Lock()
	defer p.queue.Unlock()
	p.queue.pending = append(p.queue.pending, pending[P]{sequence, write})
}

// Publish publishes every write before a sequence: they are on the disk.
func (p *Pipeline[P]) Publish(next uint64) {
	shown := p.show(next)
	for i := range shown {
		p.Notify(shown[i].write)
	}
	clear(shown) // the memory of the queue must not keep what writes changed
}

func (p *Pipeline[P]) show(next uint64) []pending[P] {
	q := &p.queue
	q.Lock()
	defer q.Unlock()
	if q.published >= next {
		return nil
	}
	n := 0
	p.Shown.Lock()
	for ; n < len(q.pending) && q.pending[n].sequence < next; n++ {
		p.Show(q.pending[n].write)
	}
	p.Shown.Unlock()
	shown := q.pending[:n:n]
	q.pending = q.pending[n:]
	q.published = next
	return shown
}

// Published returns the sequence before which all is visible.
func (p *Pipeline[P]) Published() uint64 {
	p.queue.Lock()
	defer p.queue.Unlock()
	return p.queue.published
}

// Ready reports whether writes get through the section.
func (p *Pipeline[P]) Ready() error {
	entered := p.entered.Load()
	if took := engine.SinceStart() - time.Duration(entered); entered != 0 && took > p.Stuck {
		return andon.Errorf(andon.Unavailable, "one write has kept all others waiting for %s: "+
			"the disk is too slow, or the program must be restarted", took.Round(time.Second))
	}
	return nil
}

// End ends the process. Where Fatal returns, as in a test, the error is the write's, and no other
// write gets through.
func (p *Pipeline[P]) End(err error) error {
	p.failure.CompareAndSwap(nil, &err)
	p.Fatal(err)
	return err
}

// Failed returns the error that ended writing.
func (p *Pipeline[P]) Failed() error {
	if err := p.failure.Load(); err != nil {
		return andon.Errorf(andon.Unavailable, "the store has stopped writing: %w", *err)
	}
	return nil
}
