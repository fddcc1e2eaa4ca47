// Package intake is between the transports and the store. It decides what is admitted: formats and
// limits, and the time of each entry. It refuses requests when more arrive than the store can take.
// It knows no transport and no engine.
//
// Each request goes to the store in its caller's goroutine, so that decoding, admission and
// encoding run in parallel, and the store joins the requests that wait for its disk. Shares limits
// how many requests run at once, and Budget how much memory they use. The transport calls both,
// because decoding counts as well.
package intake

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/wallclock"
)

// Options are what an Intake is made with. The zero value of each but Now works.
type Options struct {
	// Now is the clock. It must be given.
	Now func() andon.Time
	// After is a time that the arrival of each entry is after, whatever Now says.
	After andon.Time
	// Clock says which time is believed for deleting; Now unless set.
	Clock *wallclock.Clock
	// MaxBytes is how much of requests and answers may be in memory at once; half of it is for
	// requests and what is decoded of them, half for answers. 256 MiB unless set.
	MaxBytes int64
	// MaxRequests is how many writing requests may be worked at at once; 1,024 unless set.
	MaxRequests int
	// MaxReads is how many reading requests may be worked at at once; 32 unless set.
	MaxReads int
	// MaxStates is how many states outside its set a tenant may have entries with; 1,000 unless
	// set. Each costs every reader of the tenant.
	MaxStates int
	// MaxWait is how long a request may wait until it is let in; 1 s unless set.
	MaxWait time.Duration
	// Audit is called with each change for which a person answers, unless it is nil. It must return
	// at once.
	Audit func(context.Context, Change)
	// Measured is called with readings that were stored, unless it is nil. Its error is that of the
	// request: sending it again has it called again.
	Measured func(context.Context, andon.TenantID, []andon.Reading) error
	// Made is woken when a tenant was made, unless it is nil.
	Made chan<- struct{}
	// Purged is called when a device was purged, unless it is nil, to remove what else is of it.
	Purged func(context.Context, andon.TenantID, andon.DeviceID) error
}

// Intake admits what is written. All methods may be called concurrently.
type Intake struct {
	Shares
	Requests *Budget // for bodies and what is decoded of them
	Answers  *Budget // slow readers take no memory from writers
	Groups   *groups.Groups

	store   andon.Store
	options Options

	lastArrival atomic.Int64
	wanted      chan struct{} // holds one value while a sweep is wanted
}

// New makes an Intake before a store.
func New(store andon.Store, o Options) *Intake {
	o.MaxBytes = cmp.Or(o.MaxBytes, 256<<20)
	o.MaxRequests = cmp.Or(o.MaxRequests, 1024)
	o.MaxReads = cmp.Or(o.MaxReads, 32)
	o.MaxStates = cmp.Or(o.MaxStates, 1000)
	o.MaxWait = cmp.Or(o.MaxWait, time.Second)
	in := &Intake{
		Shares: newShares(&o), store: store, options: o, wanted: make(chan struct{}, 1),
		Requests: &Budget{most: o.MaxBytes / 2}, Answers: &Budget{most: o.MaxBytes / 2},
		Groups: groups.New(store, o.Now),
	}
	in.lastArrival.Store(int64(o.After))
	return in
}

// arrival returns the time of an entry that has none: now, strictly increasing within the process.
// Once the clock was set back further than entries of the tenant may be ahead of it, that begins
// anew.
func (in *Intake) arrival(t *andon.Tenant, now andon.Time) andon.Time {
	const second = 1_000_000
	ahead := int64(now.Add(max(t.MaxFuture, second)))
	for {
		last := in.lastArrival.Load()
		next := max(int64(now), last+1)
		if next > ahead {
			next = int64(now)
		}
		if in.lastArrival.CompareAndSwap(last, next) {
			return andon.Time(next)
		}
	}
}
