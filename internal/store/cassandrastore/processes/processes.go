// Package processes keeps the row of this process in the table of the processes that write, and
// reads the rows of the others, once a second. What follows from them is decided by
// merge.Membership: whether this process may write, and since when no other can have written.
//
// It uses a clock of its own, and QUORUM whatever consistencies are configured. It must not know
// what is written.
package processes

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
)

// Processes keeps up the membership of a process that writes. A process that only reads does not
// matter to the others.
type Processes struct {
	*merge.Membership
	pace    merge.Pace
	begun   time.Time
	ahead   atomic.Int64 // of the time of day before the clock of this process, in ns
	db      *cql.Session
	stamp   func() int64
	failed  atomic.Pointer[error] // why the last heartbeat or check failed
	checked chan struct{}         // wake-up: a check ended
	// bound is false if, with replicas in several data centres or consistencies that do not
	// overlap, a process can't be sure to see the others: then no process assumes that it is alone,
	// and none waits.
	bound   func(context.Context) (bool, error)
	unbound atomic.Bool // the last answer of bound was false
}

// New returns the processes as this one knows them: nothing yet. The zero Pace is the usual one.
// stamp returns rising write timestamps. bound reports whether every process needs a majority of
// all replicas for its writes anyway.
func New(
	db *cql.Session, p merge.Pace, stamp func() int64, bound func(context.Context) (bool, error),
) *Processes {
	if p == (merge.Pace{}) {
		p = merge.UsualPace()
	}
	return &Processes{
		Membership: merge.NewMembership(rand.Text(), p), pace: p,
		begun: time.Now(), db: db,
		stamp: stamp, checked: make(chan struct{}, 1), bound: bound,
	}
}

// leastJump is by how much the time of day must have gone ahead for a jump.
const leastJump = time.Second

// Now returns the time on the clock of this process alone, which no setting of the time moves. It
// looks at the time of day only to notice that the machine was suspended, when some clocks stop:
// then it forgets what it knew of the others.
func (a *Processes) Now() merge.Moment {
	now := time.Now()
	passed := now.Sub(a.begun)
	ahead := int64(now.Round(0).Sub(a.begun.Round(0)) - passed)
	if ahead > a.ahead.Swap(ahead)+int64(leastJump) {
		a.Lapse()
	}
	return merge.Moment(passed) + 1
}

// Alone returns since when no other process can have written; 0 where one may be writing.
func (a *Processes) Alone() merge.Moment { return a.Membership.Alone(a.Now()) }

// Ignore has this process write without knowing the others, for tests.
func (a *Processes) Ignore() { a.unbound.Store(true) }

// Failed returns why this process can't be known to the others, and so may not write; nil where it
// may, or was never to write.
func (a *Processes) Failed() error {
	ok, _ := a.MayWrite(a.Now())
	if err := a.failed.Load(); err != nil && !ok && !a.unbound.Load() {
		return cql.Failure("report this process to the others", *err)
	}
	return nil
}

// Wait waits until this process may write what other processes write to as well, and reports
// whether it had to.
func (a *Processes) Wait(ctx context.Context) (waited bool, err error) {
	for ; ; waited = true {
		ok, at := a.MayWrite(a.Now())
		if ok || a.unbound.Load() {
			return waited, nil
		}
		if err := a.Failed(); err != nil && waited {
			return waited, err
		}
		wait := max(time.Duration(at-a.Now()), time.Millisecond)
		if at == 0 {
			wait = time.Second
		}
		if _, err := sleep.Until(ctx, a.checked, wait); err != nil {
			return waited, cql.Failure("wait until the other processes know of this one", err)
		}
	}
}

// InTime is called before a write is acknowledged that began at a time and may take so long; 0: as
// long as the others know of this process. It is an error if the write took longer, since other
// processes may have concluded something from not seeing it, or assume that this process has ended.
func (a *Processes) InTime(began merge.Moment, within time.Duration) error {
	if within == 0 {
		within = a.pace.MemberFor
	}
	now := a.Now()
	ok, _ := a.MayWrite(now)
	if (ok || a.unbound.Load()) && now <= began.Add(within) {
		return nil
	}
	return andon.Errorf(andon.Unavailable, "this process was held up for so long that others may "+
		"have written meanwhile: send it again")
}

// Run writes heartbeats and reads those of the others until ctx ends, and then deletes its row.
func (a *Processes) Run(ctx context.Context) {
	tick := time.NewTicker(a.pace.Beat)
	defer tick.Stop()
	for ctx.Err() == nil {
		again, err := a.beat(ctx)
		if a.failed.Store(nil); err != nil {
			a.failed.Store(&err)
		}
		sleep.Wake(a.checked)
		if again {
			continue // it can be alone as soon as it has said so
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	a.leave(context.WithoutCancel(ctx))
}

const (
	beatRow = "UPDATE processes USING TIMESTAMP ? SET beat = ?, trust = ? " +
		"WHERE part = 'processes' AND id = ?"
	allRows = "SELECT id, beat, trust, writetime(beat) FROM processes WHERE part = 'processes'"
	goneRow = "DELETE FROM processes USING TIMESTAMP ? WHERE part = 'processes' AND id = ?"
)

// beat writes one heartbeat and reads the others once. again says that the next one should follow
// at once.
func (a *Processes) beat(ctx context.Context) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.pace.MemberFor/3)
	defer cancel()
	bound, err := a.bound(ctx)
	if err != nil {
		return false, err
	}
	if a.unbound.Store(!bound); !bound {
		a.Lapse()
		return false, nil
	}
	row, stamp, began := a.Next(), a.stamp(), a.Now()
	err = a.db.ExecAt(ctx, cql.Quorum, beatRow, stamp, row.Beat, row.Trust, row.ID)
	if err != nil {
		return false, err
	}
	a.Kept(row, began, a.Now())
	var rows []merge.MemberRow
	began = a.Now()
	var r merge.MemberRow
	err = a.db.EachAt(ctx, cql.Quorum, allRows, nil,
		[]any{&r.ID, &r.Beat, &r.Trust, &r.Version}, func() { rows = append(rows, r) })
	if err != nil {
		return false, err
	}
	for _, r := range a.Check(rows, began, a.Now()) {
		// At the version that was read, so that a later beat wins. A row that is not deleted now is
		// deleted after the next check.
		_ = a.db.ExecAt(ctx, cql.Quorum, goneRow, r.Version, r.ID)
	}
	return row.Trust == 0 && a.FoundNoOther(), nil
}

// leave deletes the row, so that others need not wait until it is taken as gone.
func (a *Processes) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.pace.MemberFor/3)
	defer cancel()
	_ = a.db.ExecAt(ctx, cql.Quorum, goneRow, a.stamp(), a.ID)
}
