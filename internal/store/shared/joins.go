package shared

import (
	"context"
	"slices"
	"sync"

	"github.com/andonhq/andon"
)

// Joins joins the requests that wait for one device: those that come while one write of it is under
// way are gathered, and the next write has all of them. Each request is answered by the write that
// has it.
type Joins[R any] struct {
	mu   sync.Mutex
	open map[DeviceKey]*Joined[R]
}

// Joined are the requests of one write, in the order in which they came.
type Joined[R any] struct {
	Key DeviceKey // a copy: the request that began it may be given up

	of   *Joins[R]
	size int
	done chan struct{} // closed once err says how the write ended
	err  error

	// The rest is guarded by of.

	closed   bool
	requests []*R
}

// MostJoined is how many events or readings are joined into one write. A request is not divided, so
// there may be more.
const MostJoined = 250

// Do has a request done, joined with others of its device, by the function of one of them. size is
// how many events or readings it has. That function takes the device, and then calls Close for the
// requests; it is called in a goroutine that work waits for, and with a context that does not end
// with the request. A request that is given up before Close is not among them; after that it is
// waited for, since it may be kept.
func (j *Joins[R]) Do(
	ctx context.Context, work *sync.WaitGroup, k DeviceKey, size int, r *R,
	do func(ctx context.Context, of *Joined[R]) error,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	of, begins := j.join(k, size, r)
	if begins {
		work.Go(func() {
			of.err = do(context.WithoutCancel(ctx), of)
			of.Close() // do may have ended before
			close(of.done)
		})
	}
	select {
	case <-of.done:
		return of.err
	case <-ctx.Done():
	}
	if of.leave(r) {
		return ctx.Err()
	}
	<-of.done
	return of.err
}

// join adds a request to those that wait, and reports whether it is the first of them.
func (j *Joins[R]) join(k DeviceKey, size int, r *R) (of *Joined[R], begins bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	of = j.open[k]
	if begins = of == nil || of.size >= MostJoined; begins {
		of = &Joined[R]{of: j, Key: k.own(), done: make(chan struct{})}
		if j.open == nil {
			j.open = map[DeviceKey]*Joined[R]{}
		}
		j.open[of.Key] = of
	}
	of.size += size
	of.requests = append(of.requests, r)
	return of, begins
}

// leave takes a request away that is given up, unless it is too late.
func (of *Joined[R]) leave(r *R) bool {
	of.of.mu.Lock()
	defer of.of.mu.Unlock()
	if of.closed {
		return false
	}
	of.requests = slices.DeleteFunc(of.requests, func(other *R) bool { return other == r })
	return true
}

// Close returns the requests of a write that begins; none where all were given up. Those that come
// later belong to the next one.
func (of *Joined[R]) Close() []*R {
	of.of.mu.Lock()
	defer of.of.mu.Unlock()
	if of.closed = true; of.of.open[of.Key] == of {
		delete(of.of.open, of.Key)
	}
	return of.requests
}

// Waiting returns how many requests wait to be joined to the next write of a device.
func (j *Joins[R]) Waiting(tenant string, device andon.DeviceID) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	if of := j.open[DeviceKey{tenant, device}]; of != nil {
		return len(of.requests)
	}
	return 0
}
