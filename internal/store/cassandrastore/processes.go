package cassandrastore

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

// attendance keeps up the membership of a process that writes. A process that only reads does not
// matter to the others.
type attendance struct {
	*merge.Membership
	pace   merge.Pace
	clock  *merge.Clock
	db     *cql.Session
	stamp  func() int64
	failed atomic.Pointer[error] // why the last beat or look was not answered
	met    chan struct{}         // the last one ended
	// bound is false if, with replicas in several data centres or consistencies that do not
	// overlap, a process can't be sure to see the others: then no process assumes that it is alone,
	// and none waits.
	bound func(context.Context) (bool, error)
	loose atomic.Bool // the last answer of bound was false
}

func (s *Store) newAttendance() *attendance {
	p := s.options.pace
	if p == (merge.Pace{}) {
		p = merge.UsualPace()
	}
	return &attendance{
		Membership: merge.NewMembership(rand.Text(), p), pace: p,
		clock: merge.NewClock(time.Now()), db: s.db,
		stamp: s.stamp, met: make(chan struct{}, 1), bound: s.boundToOthers,
	}
}

// boundToOthers reports whether every process of the keyspace needs a majority of all replicas for
// its writes anyway.
func (s *Store) boundToOthers(ctx context.Context) (bool, error) {
	c := &cql.Cluster{Session: s.db}
	r, err := c.ReplicationOf(ctx, s.options.Keyspace)
	return s.immediate && len(r) == 1, err
}

// now returns the time on the clock of this process. After a jump of the clock it forgets what it
// knew of the others.
func (a *attendance) now() merge.Moment {
	now, jumped := a.clock.At(time.Now())
	if jumped {
		a.Lapse()
	}
	return now
}

// mayWrite waits until this process may write what other processes write to as well.
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
			return cql.Failure("report this process to the others", *err)
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

// inTime is called before a write is acknowledged. It is an error if the write took so long that
// other processes may have concluded something from not seeing it, or assume that this process has
// ended.
func (s *Store) inTime(began merge.Moment, within time.Duration) error {
	now := s.processes.now()
	ok, _ := s.processes.MayWrite(now)
	if (ok || s.processes.loose.Load()) && now <= began.Add(within) {
		return nil
	}
	return andon.Errorf(andon.Unavailable, "this process was held up for so long that others may "+
		"have written meanwhile: send it again")
}

// attend writes a beat and reads those of the others until ctx ends, and then deletes its row.
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

// meet writes one beat and reads the others once. again says that the next one should follow at
// once.
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
	var rows []merge.MemberRow
	began = a.now()
	var r merge.MemberRow
	err = a.db.EachAt(ctx, cql.Quorum, lookRows, nil,
		[]any{&r.ID, &r.Beat, &r.Trust, &r.Version}, func() { rows = append(rows, r) })
	if err != nil {
		return false, err
	}
	for _, r := range a.Check(rows, began, a.now()) {
		// At the version that was read, so that a later beat wins. A row that is not deleted now is
		// deleted after the next look.
		_ = a.db.ExecAt(ctx, cql.Quorum, goneRow, r.Version, r.ID)
	}
	return row.Trust == 0 && a.FoundNoOther(), nil
}

// leave deletes the row, so that others need not wait until it is taken as gone.
func (a *attendance) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.pace.MemberFor/3)
	defer cancel()
	_ = a.db.ExecAt(ctx, cql.Quorum, goneRow, a.stamp(), a.ID)
}
