package cassandrastore

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared"
)

// attendance keeps the membership of a process up, from its first write on: who only reads is of no
// concern to the others.
type attendance struct {
	*shared.Membership
	pace   shared.Pace
	clock  *shared.Clock
	db     *cql.Session
	stamp  func() int64
	failed atomic.Pointer[error] // why the last beat or look was not answered
	met    chan struct{}         // the last one ended
	// bound is false where replicas in several data centres, or consistencies that do not meet,
	// leave no way to be sure of others: then no process takes itself to be alone, and none waits.
	bound func(context.Context) (bool, error)
	loose atomic.Bool // the last answer of bound was false
}

func (s *Store) newAttendance() *attendance {
	p := s.options.pace
	if p == (shared.Pace{}) {
		p = shared.UsualPace()
	}
	return &attendance{
		Membership: shared.NewMembership(rand.Text(), p), pace: p,
		clock: shared.NewClock(time.Now()), db: s.db,
		stamp: s.stamp, met: make(chan struct{}, 1), bound: s.boundToOthers,
	}
}

// boundToOthers reports whether a majority of all replicas is what every process of the keyspace
// needs for its writes anyway.
func (s *Store) boundToOthers(ctx context.Context) (bool, error) {
	c := &cql.Cluster{Session: s.db}
	r, err := c.ReplicationOf(ctx, s.options.Keyspace)
	return s.immediate && len(r) == 1, err
}

// now returns the moment, and forgets what was known before a jump of the clock.
func (a *attendance) now() shared.Moment {
	now, jumped := a.clock.At(time.Now())
	if jumped {
		a.Lapse()
	}
	return now
}

// mayWrite waits until this process may write to what other processes write to as well.
func (s *Store) mayWrite(ctx context.Context) error {
	a := s.processes
	s.join()
	for waited := false; ; waited = true {
		ok, at := a.MayWrite(a.now())
		if ok || a.loose.Load() {
			if waited {
				s.staleTenants()
			}
			return nil
		}
		if err := a.failed.Load(); err != nil && waited {
			return cql.Failure("tell the other processes of this one", *err)
		}
		wait := max(time.Duration(at-a.now()), time.Millisecond)
		if at == 0 {
			wait = time.Second
		}
		select {
		case <-ctx.Done():
			return cql.Failure("wait until the other processes know of this one", ctx.Err())
		case <-time.After(wait):
		case <-a.met:
		}
	}
}

// inTime is the end of what writes, and is asked before anything is acknowledged: an error where it
// took so long that others may have concluded from not seeing it, or have taken this process for
// gone.
func (s *Store) inTime(began shared.Moment, within time.Duration) error {
	now := s.processes.now()
	ok, _ := s.processes.MayWrite(now)
	if (ok || s.processes.loose.Load()) && now <= began.Add(within) {
		return nil
	}
	return andon.Errorf(andon.Unavailable, "this process was held up for so long that others may "+
		"have written meanwhile: send it again")
}

// attend beats and looks until ctx ends, and then says that this process is gone.
func (a *attendance) attend(ctx context.Context) {
	tick := time.NewTicker(a.pace.Beat)
	defer tick.Stop()
	for ctx.Err() == nil {
		again, err := a.meet(ctx)
		if a.failed.Store(nil); err != nil {
			a.failed.Store(&err)
		}
		sleep.Wake(a.met)
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
	lookRows = "SELECT id, beat, trust, writetime(beat) FROM processes WHERE part = 'processes'"
	goneRow  = "DELETE FROM processes USING TIMESTAMP ? WHERE part = 'processes' AND id = ?"
)

// meet is one beat and one look. again says that the next shall not wait.
func (a *attendance) meet(ctx context.Context) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.pace.MemberFor/3)
	defer cancel()
	bound, err := a.bound(ctx)
	if err != nil {
		return false, err
	}
	if a.loose.Store(!bound); !bound {
		a.Lapse()
		return false, nil
	}
	row, stamp, began := a.Next(), a.stamp(), a.now()
	err = a.db.ExecAt(ctx, cql.Quorum, beatRow, stamp, row.Beat, row.Trust, row.ID)
	if err != nil {
		return false, err
	}
	a.Kept(row, began, a.now())
	var rows []shared.MemberRow
	began = a.now()
	var r shared.MemberRow
	err = a.db.EachAt(ctx, cql.Quorum, lookRows, nil,
		[]any{&r.ID, &r.Beat, &r.Trust, &r.Version}, func() { rows = append(rows, r) })
	if err != nil {
		return false, err
	}
	for _, r := range a.Look(rows, began, a.now()) {
		// As of what was seen: a later beat stands. What is not removed now is so at the next look.
		_ = a.db.ExecAt(ctx, cql.Quorum, goneRow, r.Version, r.ID)
	}
	return row.Trust == 0 && a.FoundNoOther(), nil
}

// leave takes the row away, so that others need not wait for it to be gone.
func (a *attendance) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.pace.MemberFor/3)
	defer cancel()
	_ = a.db.ExecAt(ctx, cql.Quorum, goneRow, a.stamp(), a.ID)
}
