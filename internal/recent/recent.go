// Package recent keeps what other processes may change: what is a second old is read again before
// it is used. It knows no store.
package recent

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
)

// Age is how old a value may be when it is asked for.
const Age = time.Second

// Values has a value of each tenant. All methods may be called concurrently.
type Values[T any] struct {
	Now func() andon.Time
	all sync.Map // *value[T] by andon.TenantID
}

type value[T any] struct {
	known atomic.Pointer[reading[T]] // that may be used while it is young; nil: none

	mu    sync.Mutex // guards the rest
	last  *reading[T]
	under *reading[T] // under way, and shared by all who ask meanwhile; nil: none
	gone  bool        // another one is in its place, or will be
}

// reading is a value with the time at which reading it began, and the version of its tenant.
type reading[T any] struct {
	version uint64
	at      andon.Time
	done    chan struct{} // closed once the rest is set
	value   T
	err     error
	left    bool // who read it left before the end
}

// Get returns the value of a tenant, which read reads where it is old, or was read of another
// version of the tenant: one that was deleted may have been made again. read is given the value
// that was known before, if any.
func (v *Values[T]) Get(
	ctx context.Context, id andon.TenantID, version uint64,
	read func(ctx context.Context, was T) (T, error),
) (none T, err error) {
	asked := v.Now()
	for {
		is := v.value(id)
		known := is.known.Load()
		if known != nil && known.version == version && known.young(asked) {
			return known.value, nil
		}
		r, was := is.begin(version, v.Now())
		switch {
		case r == nil:
			continue
		case was != nil:
			v.run(ctx, id, is, r, func() { r.value, r.err = read(ctx, was.value) })
			return r.value, r.err
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return none, ctx.Err()
		}
		if !r.left && r.version == version && asked.Sub(r.at).Std() < Age { // or began later
			return r.value, r.err
		}
	}
}

// young reports whether a reading is less than Age old, by a clock that may have been set.
func (r *reading[T]) young(now andon.Time) bool {
	return max(now.Sub(r.at), r.at.Sub(now)).Std() < Age
}

func (v *Values[T]) value(id andon.TenantID) *value[T] {
	is, there := v.all.Load(id)
	if !there {
		is, _ = v.all.LoadOrStore(andon.TenantID(strings.Clone(string(id))), &value[T]{})
	}
	return is.(*value[T])
}

// begin returns the reading under way, or a new one with the one before it, which the caller runs;
// nil where the value is gone.
func (is *value[T]) begin(version uint64, now andon.Time) (r, was *reading[T]) {
	is.mu.Lock()
	defer is.mu.Unlock()
	if is.gone || is.under != nil {
		return is.under, nil
	}
	is.under = &reading[T]{version: version, at: now, done: make(chan struct{}), left: true}
	if was = is.last; was == nil {
		was = &reading[T]{}
	}
	return is.under, was
}

// run has a reading read. Of a tenant that is not there nothing is kept.
func (v *Values[T]) run(
	ctx context.Context, id andon.TenantID, is *value[T], r *reading[T], read func(),
) {
	defer func() {
		is.mu.Lock()
		defer is.mu.Unlock()
		defer close(r.done)
		if is.under != r {
			return // the value was changed meanwhile
		}
		is.under = nil
		switch {
		case !r.left && r.err == nil:
			is.last = r
			is.known.Store(r)
		case is.last == nil || r.err != nil && andon.KindOf(r.err) == andon.NotFound:
			is.gone = true
			is.known.Store(nil)
			v.all.CompareAndDelete(id, is)
		}
	}()
	read()
	r.left = r.err != nil && ctx.Err() != nil
}

// Forget has the value of a tenant read again, which was changed.
func (v *Values[T]) Forget(id andon.TenantID) {
	if is, there := v.all.Load(id); there {
		is.(*value[T]).forget()
	}
}

// ForgetAll has all values read again.
func (v *Values[T]) ForgetAll() {
	v.all.Range(func(_, is any) bool {
		is.(*value[T]).forget()
		return true
	})
}

func (is *value[T]) forget() {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.known.Store(nil)
	is.under = nil
}
