package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// A slot's note is what Slot.Changes was when it was written into a checkpoint. It belongs to the
// round.
type (
	fleet   = current.Fleet
	slot    = current.Slot
	changes = current.Changes
)

// order lets one write at a time become pending. It goes into the write-ahead log before the next
// one becomes pending, so a write is never on disk without all those it was computed from.
type order struct {
	turn    chan struct{} // holds one value while a write is in the ordered section
	large   chan struct{} // holds one value while a large write is in it, or waits for it
	entered atomic.Int64  // since when, in nanoseconds of the process; 0 while it is free
	next    uint64        // sequence of the next record
	broken  atomic.Pointer[error]
}

// stuckAfter is how long one write may be in the ordered section before the store is no longer
// ready: it needs milliseconds, and seconds where the disk can't follow.
const stuckAfter = 15 * time.Second

// ordered runs do in the ordered section, unless the context ends before its turn comes. An error
// of do must leave everything as it was. What came of a panic in there is not known: the process
// ends, because going on could acknowledge what a restart would not find.
func (s *Store) ordered(ctx context.Context, do func() error) error {
	return s.inTurn(ctx, false, do)
}

// inTurn is ordered. Of the large writes one at a time waits for its turn, so that others wait for
// no more than one of them, however many there are.
func (s *Store) inTurn(ctx context.Context, large bool, do func() error) (err error) {
	waiting := engine.SinceStart()
	if large {
		if err := acquire(ctx, s.order.large); err != nil {
			return err
		}
		defer func() { <-s.order.large }()
	}
	engine.Enter(engine.LockOrder)
	defer engine.Leave(engine.LockOrder)
	if err := acquire(ctx, s.order.turn); err != nil {
		return err
	}
	entered := engine.SinceStart()
	s.order.entered.Store(int64(entered))
	completed := false
	defer func() {
		if !completed {
			err = s.fatal(fmt.Errorf("a write panicked: %v\n%s", recover(), debug.Stack()))
		}
		s.order.entered.Store(0)
		<-s.order.turn
		if s.options.Ordered != nil {
			s.options.Ordered(entered-waiting, engine.SinceStart()-entered)
		}
	}()
	if err = ctx.Err(); err == nil { // waiting may have taken long
		err = s.failed()
	}
	if err == nil {
		err = do()
	}
	completed = true
	return err
}

// acquire waits until a channel has a free slot, unless the context ends before. To have the
// context tell takes longer than most turns, so others go on a few times first.
func acquire(ctx context.Context, slot chan struct{}) error {
	const patience = 4
	for range patience {
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

// ready reports whether writes get through the ordered section.
func (o *order) ready() error {
	entered := o.entered.Load()
	if in := engine.SinceStart() - time.Duration(entered); entered != 0 && in > stuckAfter {
		return andon.Errorf(andon.Unavailable, "one write has kept all others waiting for %s: "+
			"the disk does not follow, or the program must be restarted", in.Round(time.Second))
	}
	return nil
}

// pending is a write that is in the log but perhaps not on the disk yet.
type pending struct {
	sequence uint64 // of its last record
	tenant   *tenant
	changes  *changes // nil: of the tenant's record only
	fed      uint64   // the sequence behind its last changes for the feed; 0 where it has none
}

// queue publishes what is pending, in the order of the log, once it is on the disk.
type queue struct {
	engine.Mutex
	pending   []pending
	published uint64 // all records before this one are
}

// commit brings a write through the ordered section and onto the disk, and shows it. Where it
// returns an error that is not fatal, nothing of the write is left behind.
func (s *Store) commit(w *writing) error {
	const large = 64 << 10 // bytes
	sequence, err := uint64(0), errOvertaken
	for goes := 0; err == errOvertaken; goes++ {
		err = s.inTurn(w.ctx, w.batch.Len() > large, func() (err error) {
			if err = s.admit(w, goes); err == nil {
				sequence, err = s.stage(w)
			}
			return err
		})
		if err == errOvertaken {
			if again := w.again(); again != nil {
				w.release()
				return again
			}
		}
	}
	w.release()
	if err != nil {
		return err
	}
	if err := w.batch.SyncWait(); err != nil {
		return s.fatal(fmt.Errorf("write store to disk: %w", err))
	}
	s.publish(sequence)
	s.checkpoints.grow(s, w.recorded)
	s.arrivals.Arrived(w.received)
	s.feed.Grow(w.received, len(w.feed), sequence)
	w.remember()
	return nil
}

// errOvertaken says that so much has changed since a write was worked out that it would keep the
// others waiting for too long.
var errOvertaken = errors.New("overtaken by other writes")

// admit makes a write what it should be now. What was overtaken is folded again outside the ordered
// section, where that takes long. Where it is overtaken again and again, it holds its devices:
// others that change them wait for it, and only those. Nothing else outside the write is changed.
func (s *Store) admit(w *writing, goes int) error {
	const dear, patience = 1000, 3
	if w.tenant.gone {
		return andon.NoTenant(w.tenant.record.Load().ID)
	}
	if err := s.dir.Disk.Admit(w.frees); err != nil {
		return err
	}
	w.overtaken = w.old()
	if w.waits = w.tenant.held.by(w); w.waits != nil {
		return errOvertaken
	}
	if w.cost(w.overtaken) > dear {
		if goes >= patience && w.holds == nil {
			w.hold()
		}
		return errOvertaken
	}
	if err := w.refold(w.overtaken); err != nil {
		return err
	}
	if w.rows != nil {
		if err := w.rows(); err != nil {
			return err
		}
	}
	return w.setAside()
}

// stage puts a write into the log and makes it pending, so that the next one is computed from it.
// It can not be taken back. It returns the sequence of its last row.
func (s *Store) stage(w *writing) (sequence uint64, err error) {
	w.place()
	p, err := w.setRows(s.order.next)
	if err == nil {
		err = s.db.ApplyNoSyncWait(w.batch, pebble.Sync)
	}
	if err != nil {
		return 0, s.fatal(fmt.Errorf("write store: %w", err))
	}
	if err := s.log.Memory.Add(w.added()); err != nil {
		return 0, s.fatal(fmt.Errorf("read what was just written: %w", err))
	}
	if w.ordered != nil {
		w.ordered()
	}
	w.changes.Stage(w.tenant.fleet)
	s.order.next = p.sequence + 1
	s.queue.Lock()
	s.queue.pending = append(s.queue.pending, p)
	s.queue.Unlock()
	return p.sequence, nil
}

// publish shows every write up to one that is on the disk: the log is written in order, so the
// earlier ones are on the disk as well. Who waits for changes is woken behind all locks.
func (s *Store) publish(sequence uint64) {
	for _, p := range s.show(sequence) {
		p.tenant.feed.Ring(p.fed)
	}
}

// publishBefore publishes all records before a sequence, which are on the disk.
func (s *Store) publishBefore(next uint64) {
	if next > 0 {
		s.publish(next - 1)
	}
}

// show returns the writes that are in the feed now.
func (s *Store) show(sequence uint64) (fed []pending) {
	s.queue.Lock()
	defer s.queue.Unlock()
	if s.queue.published > sequence {
		return nil
	}
	n := 0
	s.mu.Lock()
	for ; n < len(s.queue.pending) && s.queue.pending[n].sequence <= sequence; n++ {
		p := s.queue.pending[n]
		if p.changes != nil {
			p.tenant.fleet.Publish(p.changes)
		}
		if p.fed > 0 {
			fed = append(fed, pending{fed: p.fed, tenant: p.tenant})
		}
		s.queue.pending[n] = pending{}
	}
	s.mu.Unlock()
	s.queue.pending = s.queue.pending[n:]
	s.queue.published = sequence + 1
	return fed
}

// fatal ends the process. Where it comes back, as in a test, the error is the write's, and no other
// write gets through: what is in memory may not be what is on the disk.
func (s *Store) fatal(err error) error {
	s.order.broken.CompareAndSwap(nil, &err)
	s.options.Fatal(err)
	return err
}

// failed returns the error that the store can't go on after.
func (s *Store) failed() error {
	if err := s.order.broken.Load(); err != nil {
		return andon.Errorf(andon.Unavailable, "the store has stopped writing: %w", *err)
	}
	return nil
}
