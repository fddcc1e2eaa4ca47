// Package intake stands between the transports and the store. It decides what is admitted:
// forms and limits, the time of each entry, the operator who answers for it. It pushes back
// when more arrives than the store takes, and tells listeners what has changed. It knows no
// transport and no engine.
//
// Requests are not queued here: each goes to the store in its caller's goroutine, so that decoding,
// admitting and encoding run in parallel, and the store joins those that wait for its disk.
package intake

import (
	"sync"
	"sync/atomic"

	"github.com/andonhq/andon"
)

// Options are what an Intake is made with. The zero value of each but Now works.
type Options struct {
	// Now is the clock. It must be given.
	Now func() andon.Time
	// MaxBytes is how much of request bodies may be in memory at once, and how much of answers; 256
	// MiB unless set.
	MaxBytes int64
	// MaxRequests is how many requests may be under way to the store at once; 4,096 unless set.
	MaxRequests int
	// Changed is told, after each request that is durable, which devices it touched, some of them
	// more than once. It says nothing of what changed: a listener asks the store, which knows the
	// newest. So the order in which requests are told does not matter. It must return at once.
	Changed func(tenant andon.TenantID, devices []andon.DeviceID)
}

// Intake admits what is written. All methods may be called concurrently.
type Intake struct {
	store   andon.Store
	options Options

	// gate lets appends pass side by side, and assignments and changes of a tenant one by one
	// with no append under way. So between resolving an entry's operator and keeping the
	// entry no assignment comes in, and the severities that a request was sorted by are those
	// it is kept under.
	gate sync.RWMutex

	lastArrival atomic.Int64
	bytes       atomic.Int64 // of bodies
	answers     atomic.Int64 // bytes of answers
	requests    atomic.Int64
}

// New makes an Intake before a store.
func New(store andon.Store, o Options) *Intake {
	if o.MaxBytes == 0 {
		o.MaxBytes = 256 << 20
	}
	if o.MaxRequests == 0 {
		o.MaxRequests = 4096
	}
	return &Intake{store: store, options: o}
}

// Reserve takes room for n bytes of a request's body, until release is called. It is Busy when
// there is none left: memory is bounded however many clients send at once.
func (in *Intake) Reserve(n int64) (release func(), err error) {
	return in.reserve(&in.bytes, n)
}

// ReserveAnswer takes room for n bytes of an answer, as Reserve does. Who reads slowly takes no
// room from those who write.
func (in *Intake) ReserveAnswer(n int64) (release func(), err error) {
	return in.reserve(&in.answers, n)
}

func (in *Intake) reserve(used *atomic.Int64, n int64) (release func(), err error) {
	if err := take(used, n, in.options.MaxBytes); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { used.Add(-n) }), nil
}

// enter takes one place among the requests under way to the store, until leave is called.
func (in *Intake) enter() (leave func(), err error) {
	if err := take(&in.requests, 1, int64(in.options.MaxRequests)); err != nil {
		return nil, err
	}
	return func() { in.requests.Add(-1) }, nil
}

// alone enters with no other request under way, until leave is called.
func (in *Intake) alone() (leave func(), err error) {
	exit, err := in.enter()
	if err != nil {
		return nil, err
	}
	in.gate.Lock()
	return func() {
		in.gate.Unlock()
		exit()
	}, nil
}

func take(used *atomic.Int64, n, most int64) error {
	if used.Add(n) > most {
		used.Add(-n)
		return andon.Errorf(andon.Busy,
			"more is arriving than the store takes: try again in a second")
	}
	return nil
}

// arrival returns the time of an entry that has none: now, strictly increasing within the process.
func (in *Intake) arrival(now andon.Time) andon.Time {
	for {
		last := in.lastArrival.Load()
		next := max(int64(now), last+1)
		if in.lastArrival.CompareAndSwap(last, next) {
			return andon.Time(next)
		}
	}
}

func (in *Intake) changed(tenant andon.TenantID, devices ...andon.DeviceID) {
	if in.options.Changed != nil {
		in.options.Changed(tenant, devices)
	}
}
