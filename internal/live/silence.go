package live

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/andonhq/andon"
)

// Shown is what devices show now, as far as silence needs it.
type Shown interface {
	Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error)
	Counts(
		ctx context.Context, tenant andon.TenantID, silentBefore andon.Time,
	) ([]andon.StateCount, error)
	Devices(
		ctx context.Context, tenant andon.TenantID, q andon.DeviceQuery,
	) iter.Seq2[andon.Device, error]
}

// SilenceChange is a device that has fallen silent, or that has reported again.
type SilenceChange struct {
	Device andon.DeviceID
	State  andon.State // that it showed when it was seen to be silent
	Silent bool
}

const (
	// checkEvery is how often a fleet of up to checkPart devices is checked, and a larger one less
	// often in proportion. Counting takes a thousandth of a core where 100,000 devices are in
	// memory, and listing them a few hundredths.
	checkEvery = time.Second
	checkPart  = 100_000
	// checkAll is after how many checks the devices are listed although as many are silent as
	// before: one may have fallen silent as another one reported.
	checkAll = 3
	// maxChanges is how many changes are kept for slow listeners. An event of a stream with
	// all of them stays below a megabyte.
	maxChanges = 4096
)

// Silences reports which devices fall silent and which report again. Neither changes what a
// device shows, so the feed has neither. A tenant is checked once, however many listen, and only
// while someone does. Its methods may be called concurrently.
type Silences struct {
	store Shown
	now   func() andon.Time

	mu      sync.Mutex
	tenants map[andon.TenantID]*watch
}

// NewSilences makes Silences of the devices that a store shows.
func NewSilences(store Shown, now func() andon.Time) *Silences {
	return &Silences{store: store, now: now, tenants: map[andon.TenantID]*watch{}}
}

// watch is the silence of one tenant, while someone listens.
type watch struct {
	of        *Silences
	id        andon.TenantID
	listeners int // guarded by Silences.mu
	stop      context.CancelFunc
	ended     chan struct{}
	begun     chan struct{} // closed once it is known which devices are silent, or err is set
	err       error

	// What the last check found, for the goroutine that checks.
	silent  map[andon.DeviceID]andon.State
	counts  map[andon.State]int // of silent ones
	devices int                 // in all
	same    int                 // checks that found the same counts

	mu      sync.Mutex
	changes []SilenceChange
	first   uint64        // number of changes[0]
	news    chan struct{} // closed by the next change
}

// Listener gets the changes of one tenant. It is for one goroutine; Close ends it.
type Listener struct {
	watch *watch
	next  uint64
}

// Listen reports the changes from now on. A client that queries which devices are silent once it
// has returned misses none.
func (s *Silences) Listen(ctx context.Context, id andon.TenantID) (*Listener, error) {
	s.mu.Lock()
	w := s.tenants[id]
	if w == nil {
		w = s.start(id)
		s.tenants[id] = w
	}
	w.listeners++
	s.mu.Unlock()
	l := &Listener{watch: w}
	select {
	case <-w.begun:
	case <-ctx.Done():
		l.Close()
		return nil, ctx.Err()
	}
	if w.err != nil {
		l.Close()
		return nil, w.err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l.next = w.first + uint64(len(w.changes))
	return l, nil
}

func (s *Silences) start(id andon.TenantID) *watch {
	ctx, stop := context.WithCancel(context.Background())
	w := &watch{
		of: s, id: id, stop: stop, ended: make(chan struct{}), begun: make(chan struct{}),
		news: make(chan struct{}),
	}
	go func() {
		defer close(w.ended)
		w.follow(ctx)
	}()
	return w
}

// Close ends the listening. The last listener of a tenant waits until it is not checked any more.
func (l *Listener) Close() {
	w := l.watch
	w.of.mu.Lock()
	w.listeners--
	last := w.listeners == 0
	if last {
		delete(w.of.tenants, w.id)
	}
	w.of.mu.Unlock()
	if last {
		w.stop()
		<-w.ended
	}
}

// News returns a channel that the next change closes. A listener calls News, then Take, and then
// waits on the channel: so it misses no change between the two calls.
func (l *Listener) News() <-chan struct{} {
	l.watch.mu.Lock()
	defer l.watch.mu.Unlock()
	return l.watch.news
}

// Take returns what changed since it was called last, in order. It returns false if some of that is
// no longer kept: the listener has to query which devices are silent.
func (l *Listener) Take() (changes []SilenceChange, all bool) {
	w := l.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if all = l.next >= w.first; all {
		changes = slices.Clone(w.changes[l.next-w.first:])
	}
	l.next = w.first + uint64(len(w.changes))
	return changes, all
}

// follow checks until the context ends. The next check makes up for one that fails.
func (w *watch) follow(ctx context.Context) {
	w.err = w.check(ctx)
	close(w.begun)
	if w.err != nil {
		return
	}
	timer := time.NewTimer(w.pause())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		_ = w.check(ctx)
		timer.Reset(w.pause())
	}
}

func (w *watch) pause() time.Duration {
	return checkEvery * time.Duration(1+(w.devices-1)/checkPart)
}

// check finds out which devices are silent, and reports what changed since the check before.
func (w *watch) check(ctx context.Context) error {
	tenant, err := w.of.store.Tenant(ctx, w.id)
	if err != nil {
		return err
	}
	before := andon.SilentBefore(w.of.now(), tenant.SilentAfter)
	counts, err := w.of.store.Counts(ctx, w.id, before)
	if err != nil {
		return err
	}
	if !w.mayDiffer(counts) {
		return nil
	}
	silent, err := w.list(ctx, before)
	if err != nil {
		w.same = checkAll // the next check lists them
		return err
	}
	if w.silent != nil {
		w.report(changesOf(w.silent, silent))
	}
	w.silent = silent
	return nil
}

// mayDiffer takes note of counts, and reports whether other devices may be silent than before.
func (w *watch) mayDiffer(counts []andon.StateCount) bool {
	silent := map[andon.State]int{}
	w.devices = 0
	for _, n := range counts {
		w.devices += n.Count
		if n.Silent > 0 {
			silent[n.State] = n.Silent
		}
	}
	same := w.silent != nil && maps.Equal(silent, w.counts)
	w.counts = silent
	w.same++
	if same && (w.same < checkAll || len(w.silent) == 0 && len(silent) == 0) {
		return false
	}
	w.same = 0
	return true
}

// list returns the devices of which nothing arrived since a time, and their states.
func (w *watch) list(
	ctx context.Context, before andon.Time,
) (map[andon.DeviceID]andon.State, error) {
	const part = 4096
	silent := map[andon.DeviceID]andon.State{}
	q := andon.DeviceQuery{HeardBefore: before, Brief: true, Limit: part}
	for more := true; more; {
		found := 0
		for d, err := range w.of.store.Devices(ctx, w.id, q) {
			if err != nil {
				return nil, err
			}
			silent[d.ID] = d.State
			q.After, found = new(d.Position()), found+1
		}
		more = found == part
	}
	return silent, nil
}

// changesOf returns what differs between two checks, by device.
func changesOf(before, after map[andon.DeviceID]andon.State) []SilenceChange {
	var changes []SilenceChange
	for id, state := range after {
		if _, was := before[id]; !was {
			changes = append(changes, SilenceChange{Device: id, State: state, Silent: true})
		}
	}
	for id, state := range before {
		if _, is := after[id]; !is {
			changes = append(changes, SilenceChange{Device: id, State: state})
		}
	}
	slices.SortFunc(changes, func(a, b SilenceChange) int {
		return strings.Compare(string(a.Device), string(b.Device))
	})
	return changes
}

// report adds changes to those that are kept, and drops the oldest beyond maxChanges.
func (w *watch) report(changes []SilenceChange) {
	if len(changes) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes = append(w.changes, changes...)
	if n := len(w.changes) - maxChanges; n > 0 {
		w.changes, w.first = slices.Clone(w.changes[n:]), w.first+uint64(n)
	}
	close(w.news)
	w.news = make(chan struct{})
}
