// Package lease gives work to one process of several on a store at a time, and keeps how far it is.
// Both are in one record. So a process that has lost its lease can't move the position, whatever it
// believes: the record has another version.
//
// It knows nothing of the work.
package lease

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

// Kind is the kind of the records, which belong to the whole store.
const Kind andon.RecordKind = "lease"

// ErrLost says that another process has the lease, or may have it.
var ErrLost = andon.Errorf(andon.Conflict, "this process has lost the lease")

// errExpired is an ErrLost that no other process is the reason of.
var errExpired = andon.Errorf(andon.Unavailable,
	"the store is too slow, or fails, and did not renew it in time: %w", ErrLost)

type stored struct {
	Owner    string     `json:"owner,omitempty"` // absent: it was given back
	Position andon.JSON `json:"position,omitempty"`
}

// Holder takes leases for one process.
type Holder struct {
	Records andon.Records
	Owner   string // another for each process: NewOwner
	// Alone says that no other process has the store open: a lease that somebody else had is taken
	// at once. It holds for an embedded store.
	Alone bool
	// For is the time within which a process that died is replaced; on its machine it is a sixth.
	// A process that waits measures that by its own clock, so clocks need not agree.
	For time.Duration
}

// What happens when, in sixths of Holder.For after a lease was renewed last. Who works has stopped
// before anybody else begins, and somebody else has begun within For: who waits may see the last
// renewal a sixth late, and looks again a sixth late.
const (
	renewAfter  = 1 // also how often a lease is looked at, and how long a renewal may take
	stopAfter   = 3
	expireAfter = 4
)

// Lease is work that this process does.
type Lease struct {
	h    *Holder
	quit context.CancelCauseFunc

	mu      sync.Mutex // held during each write of the record
	record  andon.Record
	held    stored
	renewed time.Time
	expiry  *time.Timer // ends the work, also while a renewal hangs; nil before the work
}

func (h *Holder) sixths(n int) time.Duration { return h.For / 6 * time.Duration(n) }

// Hold does work under the lease of a name, for which it waits until the context ends. It returns
// with the work, or with an error of the store. The context of the work ends when the lease is
// lost; then Hold waits until it can be taken again, and begins anew.
func (h *Holder) Hold(
	ctx context.Context, name string, work func(context.Context, *Lease) error,
) error {
	var last *watch
	for {
		l, w, err := h.take(ctx, name, last)
		if last = w; l != nil {
			err = l.during(ctx, work)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case l != nil && !errors.Is(err, ErrLost), l == nil && err != nil:
			return err
		}
		_ = sleep.For(ctx, h.sixths(renewAfter))
	}
}

// watch is the version of a lease that somebody else has, and since when it has not changed.
type watch struct {
	version uint64
	since   time.Time
}

// note returns what is known once a version was seen; nil knows nothing.
func (w *watch) note(version uint64) *watch {
	if w != nil && w.version == version {
		return w
	}
	return &watch{version, time.Now()}
}

func (h *Holder) isFree(is stored, w *watch) bool {
	return is.Owner == "" || is.Owner == h.Owner || h.Alone || h.hasEnded(is.Owner) ||
		time.Since(w.since) >= h.sixths(expireAfter)
}

// read returns the record of a lease; one of version 0 where there is none.
func (h *Holder) read(ctx context.Context, name string) (r andon.Record, is stored, err error) {
	r, err = h.Records.Record(ctx, "", Kind, name)
	if andon.KindOf(err) == andon.NotFound {
		return andon.Record{Kind: Kind, ID: name}, is, nil
	}
	if err == nil {
		err = r.Decode(&is)
	}
	return r, is, err
}

// take takes a lease that nobody has, or returns nil, and what is known then of who has it.
func (h *Holder) take(ctx context.Context, name string, last *watch) (*Lease, *watch, error) {
	r, is, err := h.read(ctx, name)
	if err != nil {
		return nil, last, err
	}
	if last = last.note(r.Version); !h.isFree(is, last) {
		return nil, last, nil
	}
	l := &Lease{h: h, record: r, held: is}
	err = l.put(ctx, func(is *stored) { is.Owner = h.Owner })
	if err == nil {
		return l, last, nil
	}
	if errors.Is(err, ErrLost) { // another one was faster
		err = nil
	}
	return nil, last, err
}

// during does the work, renews the lease meanwhile, and gives it back.
func (l *Lease) during(ctx context.Context, work func(context.Context, *Lease) error) error {
	held, quit := context.WithCancelCause(ctx)
	l.quit = quit
	l.mu.Lock()
	l.expiry = time.AfterFunc(l.h.sixths(stopAfter)-time.Since(l.renewed),
		func() { quit(errExpired) })
	l.mu.Unlock()
	var renewing sync.WaitGroup
	renewing.Go(func() { l.renew(held) })
	err := work(held, l)
	if lost := context.Cause(held); lost != nil && ctx.Err() == nil {
		err = lost
	}
	quit(nil)
	renewing.Wait()
	l.expiry.Stop()
	if !errors.Is(err, ErrLost) {
		l.giveBack(context.WithoutCancel(ctx))
	}
	return err
}

// renew renews the lease, where the work does not, until the context ends; it ends that when the
// lease is lost.
func (l *Lease) renew(ctx context.Context) {
	each := l.h.sixths(renewAfter)
	for sleep.For(ctx, max(each-l.age(), each/4)) == nil {
		if l.age() < each {
			continue
		}
		within, cancel := context.WithTimeout(ctx, each)
		err := l.put(within, func(*stored) {})
		cancel()
		if errors.Is(err, ErrLost) {
			l.quit(ErrLost)
		}
	}
}

// age is how long ago the lease was renewed.
func (l *Lease) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.renewed)
}

// Position returns what was saved last, by any process; "" at the beginning.
func (l *Lease) Position() andon.JSON {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held.Position
}

// Save keeps how far the work is, and renews the lease. The error is ErrLost when another process
// has it now: then nothing was saved.
func (l *Lease) Save(ctx context.Context, position andon.JSON) error {
	return l.put(ctx, func(is *stored) { is.Position = position })
}

// put changes the lease. An error other than a conflict may have stored it or not: the next change
// then reads the record, and is made to it where it is ours still. So a renewal, or giving it back,
// does not undo a Save of which nobody knows that it was done.
func (l *Lease) put(ctx context.Context, change func(*stored)) error {
	ctx = andon.Urgent(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	began := time.Now()
	r, is := l.record, l.held
	for again := false; ; again = true {
		change(&is)
		data, err := json.Marshal(is)
		if err != nil {
			return andon.Errorf(andon.Internal, "write lease %s: %w", r.ID, err)
		}
		r.Data = andon.JSON(data)
		kept, err := l.h.Records.PutRecord(ctx, r)
		switch {
		case err == nil:
			l.record, l.held, l.renewed = kept, is, began
			if l.expiry != nil {
				l.expiry.Reset(l.h.sixths(stopAfter) - time.Since(began))
			}
			return nil
		case andon.KindOf(err) != andon.Conflict:
			return err
		}
		if r, is, err = l.h.read(ctx, r.ID); err != nil {
			return err
		}
		if again || is.Owner != l.h.Owner {
			return ErrLost
		}
	}
}

// giveBack lets others have the lease at once. If that fails they wait until it has expired.
func (l *Lease) giveBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.h.sixths(renewAfter))
	defer cancel()
	_ = l.put(ctx, func(is *stored) { is.Owner = "" })
}
