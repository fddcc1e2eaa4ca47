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
var ErrLost = andon.Errorf(andon.Conflict, "another process has this lease now")

// stored is the document of a lease.
type stored struct {
	Owner    string     `json:"owner,omitempty"` // absent: it was given back
	Position andon.JSON `json:"position,omitempty"`
}

// Holder takes leases for one process.
type Holder struct {
	Records andon.Records
	Owner   string // another for each process
	// Alone says that no other process has the store open: a lease that somebody else had is taken
	// at once.
	Alone bool
	// For is how long a lease lasts without being renewed. A process that waits measures that by
	// its own clock, so clocks need not agree.
	For time.Duration
}

// Lease is work that this process does.
type Lease struct {
	h    *Holder
	quit context.CancelCauseFunc

	mu      sync.Mutex // held during each write of the record
	record  andon.Record
	held    stored
	renewed time.Time
}

// Hold does work under the lease of a name, and again whenever that ends without an error. It
// returns once the context ends, or with an error of the work or of the store. The context of the
// work ends when the lease is lost; then Hold waits until it can be taken again.
func (h *Holder) Hold(
	ctx context.Context, name string, work func(context.Context, *Lease) error,
) error {
	var last watch
	for ctx.Err() == nil {
		l, err := h.take(ctx, name, &last)
		if err == nil && l != nil {
			err = l.during(ctx, work)
			last = watch{}
		}
		if err != nil && !errors.Is(err, ErrLost) && ctx.Err() == nil {
			return err
		}
		if l == nil || err != nil {
			_ = sleep.For(ctx, h.For/4)
		}
	}
	return context.Cause(ctx)
}

// watch is the version of a lease that somebody else has, and since when it has not changed.
type watch struct {
	version uint64
	since   time.Time
}

// take takes a lease that nobody has, or returns nil.
func (h *Holder) take(ctx context.Context, name string, last *watch) (*Lease, error) {
	r, err := h.Records.Record(ctx, "", Kind, name)
	if andon.KindOf(err) == andon.NotFound {
		r, err = andon.Record{Kind: Kind, ID: name}, nil
	}
	if err != nil {
		return nil, err
	}
	var is stored
	if r.Version > 0 {
		if err := json.Unmarshal([]byte(r.Data), &is); err != nil {
			return nil, andon.Errorf(andon.Damaged, "read lease %s: %w", name, err)
		}
	}
	if r.Version != last.version {
		*last = watch{r.Version, time.Now()}
	}
	if is.Owner != "" && is.Owner != h.Owner && !h.Alone && time.Since(last.since) < h.For {
		return nil, nil
	}
	is.Owner = h.Owner
	l := &Lease{h: h, record: r, held: is}
	err = l.Save(ctx, is.Position)
	if errors.Is(err, ErrLost) { // another one was faster
		return nil, nil
	}
	return l, err
}

// during does the work, renews the lease meanwhile, and gives it back.
func (l *Lease) during(ctx context.Context, work func(context.Context, *Lease) error) error {
	held, quit := context.WithCancelCause(ctx)
	l.quit = quit
	var renewing sync.WaitGroup
	renewing.Go(func() { l.renew(held) })
	err := work(held, l)
	if lost := context.Cause(held); lost != nil && ctx.Err() == nil {
		err = lost
	}
	quit(nil)
	renewing.Wait()
	if !errors.Is(err, ErrLost) {
		l.giveBack(context.WithoutCancel(ctx))
	}
	return err
}

// renew renews the lease until the context ends, and ends it when it is lost.
func (l *Lease) renew(ctx context.Context) {
	for sleep.For(ctx, l.h.For/4) == nil {
		limit, cancel := context.WithTimeout(ctx, l.h.For/8)
		err := l.Save(limit, l.Position())
		cancel()
		l.mu.Lock()
		late := time.Since(l.renewed) > l.h.For/2 // another one may take it before the next try
		l.mu.Unlock()
		if errors.Is(err, ErrLost) || err != nil && late {
			l.quit(ErrLost)
			return
		}
	}
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
	l.mu.Lock()
	defer l.mu.Unlock()
	next := stored{Owner: l.held.Owner, Position: position}
	return l.put(ctx, next)
}

// put stores the lease. An error other than a conflict may have stored it or not: the record is
// read again, and where it is ours still, that is its version.
func (l *Lease) put(ctx context.Context, next stored) error {
	data, err := json.Marshal(next)
	if err != nil {
		return andon.Errorf(andon.Internal, "write lease %s: %w", l.record.ID, err)
	}
	r, began := l.record, time.Now()
	r.Data = andon.JSON(data)
	kept, err := l.h.Records.PutRecord(ctx, r)
	if andon.KindOf(err) == andon.Conflict {
		if r.Version, err = l.versionNow(ctx); err == nil {
			kept, err = l.h.Records.PutRecord(ctx, r)
		}
	}
	if andon.KindOf(err) == andon.Conflict {
		return ErrLost
	}
	if err != nil {
		return err
	}
	l.record, l.held, l.renewed = kept, next, began
	return nil
}

// versionNow returns the version of a lease that this process has still. It is not the one that is
// known where a write failed, and was done nevertheless.
func (l *Lease) versionNow(ctx context.Context) (uint64, error) {
	r, err := l.h.Records.Record(ctx, "", Kind, l.record.ID)
	if andon.KindOf(err) == andon.NotFound {
		return 0, ErrLost
	}
	if err != nil {
		return 0, err
	}
	var is stored
	if json.Unmarshal([]byte(r.Data), &is) != nil || is.Owner != l.h.Owner {
		return 0, ErrLost
	}
	return r.Version, nil
}

// giveBack lets others have the lease at once. If that fails they wait until it has expired.
func (l *Lease) giveBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.h.For/4)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.put(ctx, stored{Position: l.held.Position})
}
