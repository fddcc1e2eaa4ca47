package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/andonhq/andon/internal/sleep"
)

const (
	soakParts   = 10
	soakSingles = 16                   // connections of the single events beside the batches
	soakGap     = 5 * time.Millisecond // from one of them to the next
	soakLook    = 200 * time.Millisecond
)

// soaking is a soak of one server: batches that come as fast as they are taken, and single events
// beside them at a fixed rate.
type soaking struct {
	*serverRun
	batch, single    request
	batches, singles *lane
}

// soak lets them come for ten times as long as another load, or until there are as many events as
// Soak says. It shows the first and the last tenth: a server that slows down as it fills, or needs
// more memory, shows it there.
func (r *serverRun) soak(ctx context.Context, l *lane) (rows []Row, err error) {
	size := min(r.Batch, r.Devices)
	// Batches bring the even rounds of the fleet and single events the odd ones.
	many, one := r.batch(size), r.single
	apart := func(of func(int64) slice, odd int) func(int64) slice {
		return func(n int64) slice {
			s := of(n)
			s.round += s.round - r.round + odd
			return s
		}
	}
	k := &soaking{
		serverRun: r, batches: l, singles: l.unmeasured(),
		batch:  r.posting("soak: "+events(size), size, batchWriters, apart(many, 0), nil),
		single: r.posting("soak: 1 event beside that", 1, soakSingles, apart(one, 1), nil),
	}
	k.batch.rounds, k.single.rounds = 2, 2
	for i := range soakParts {
		found, err := k.part(ctx, i)
		if err != nil {
			return rows, err
		}
		if i == 0 || i == soakParts-1 {
			rows = append(rows, found...)
		}
		r.tell(float64(i+1) / soakParts)
	}
	return rows, nil
}

// part is one tenth. What the server used is in the row of the batches, also for single events, and
// its memory is the most that was seen.
func (k *soaking) part(ctx context.Context, i int) (rows []Row, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	over := make(chan struct{})
	jobs := []job{{length: k.Duration}, {over: over, due: k.singles.every(soakGap, 1)}}
	if k.Soak > 0 {
		jobs[0].length, jobs[0].most = 0, int64(max((i+1)*k.Soak/soakParts/k.batch.events, i+1))
	}
	rows = make([]Row, 2)
	put := func(at int, l *lane, q request) {
		q.name = fmt.Sprintf("%s, tenth %d", q.name, i+1)
		row, err := k.put(ctx, l, q, jobs[at])
		if rows[at] = row; err != nil {
			fail(err)
		}
	}
	var most int64
	var beside sync.WaitGroup
	beside.Go(func() { put(1, k.singles, k.single) })
	beside.Go(func() { most = k.watchMemory(ctx, over) })
	put(0, k.batches, k.batch)
	close(over)
	beside.Wait()
	if rows[0].Memory != nil {
		*rows[0].Memory = max(*rows[0].Memory, most)
	}
	return rows, context.Cause(ctx)
}

// watchMemory returns the most memory that it saw until the end.
func (k *soaking) watchMemory(ctx context.Context, over <-chan struct{}) (most int64) {
	for {
		if ended, err := sleep.Until(ctx, over, soakLook); ended || err != nil {
			return most
		}
		if u, err := k.batches.usage(ctx); err == nil { // an error is told by the row of the load
			most = max(most, u.Memory)
		}
	}
}
