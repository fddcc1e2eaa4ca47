package entries

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// Memory has the entries of rows that are not flushed: those of the frozen memtable, which a flush
// is writing, and those of the live one, which takes new entries. Entries are added in the ordered
// section.
type Memory struct {
	mu      engine.RWMutex
	live    *eventlog.Head
	frozen  *eventlog.Head // nil while there is no flush
	next    uint64         // the sequence after the rows of frozen
	rows    int64          // bytes of those rows, as they are unpacked
	dropped chan struct{}  // closed when frozen is dropped
	Limit   int            // bytes of both
	flushed atomic.Int64   // entries of frozen
	Waits   atomic.Int64   // writes that waited because both were full
	Looking func()         // called before a reader looks into memory; nil, but in tests

	// timeout is how long a write waits for a flush. One that takes longer, or fails again and
	// again, must not hold clients up: they get Busy, and try again.
	timeout time.Duration

	row   eventlog.Row // of Add, which is in the ordered section
	names []byte
}

// The bytes that both memtables take together. A flush also writes each device that has changed
// since the last one, so a smaller limit has devices written more often.
const (
	DefaultMemory = 128 << 20
	LeastMemory   = 1 << 20
	MostMemory    = eventlog.MostTexts / 2 // half of what all of its texts can be
)

func (h *Memory) begin(most int, timeout time.Duration) {
	h.live, h.Limit, h.timeout = eventlog.NewHead(), most, timeout
	h.dropped = make(chan struct{})
}

// Added are the entries of a row, as they are encoded.
type Added struct {
	Tenant   uint32
	Received andon.Time
	Names    *eventlog.Names
	Devices  int
	// Device returns the number of the i-th device, and its entries.
	Device func(i int) (number uint32, entries []byte)
}

// Add takes in the entries of a row that has become pending. It reads them from the bytes of the
// row, as opening does, so that what is in memory is what a restart would read.
func (h *Memory) Add(a Added) error {
	const step = 256 // devices in one go, so that readers are not held up
	h.names = a.Names.Append(h.names[:0])
	if _, err := h.row.ReadNames(h.names); err != nil {
		return err
	}
	for from := 0; from < a.Devices; from += step {
		if err := h.addSome(a, from, min(from+step, a.Devices)); err != nil {
			return err
		}
	}
	return nil
}

func (h *Memory) addSome(a Added, from, to int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := from; i < to; i++ {
		number, encoded := a.Device(i)
		var full error
		_, _, err := h.row.ReadEntries(encoded, a.Received, func(e eventlog.Entry) {
			if err := h.live.Add(a.Tenant, number, e); err != nil {
				full = err
			}
		})
		if err := errors.Join(err, full); err != nil {
			return err
		}
	}
	return nil
}

// Loading returns what opening adds entries to, before anything else looks.
func (h *Memory) Loading() *eventlog.Head { return h.live }

// Bytes is about how much memory the entries take.
func (h *Memory) Bytes() (n int) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, head := range h.view() {
		n += head.Bytes()
	}
	return n
}

// Entries returns how many entries there are.
func (h *Memory) Entries() (n int) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, head := range h.view() {
		n += head.Entries()
	}
	return n
}

// Full reports whether the live memtable is to be frozen.
func (h *Memory) Full() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.live.Bytes() >= h.Limit/2
}

// Wait waits while the memtables are full: a flush is writing one of them, or can't begin because
// of a deletion. It is Busy where that takes longer than the timeout. flush asks for a flush.
func (h *Memory) Wait(ctx context.Context, flush func()) error {
	dropped := h.fullBoth()
	if dropped == nil {
		return nil
	}
	h.Waits.Add(1)
	timeout := time.NewTimer(h.timeout)
	defer timeout.Stop()
	for ; dropped != nil; dropped = h.fullBoth() {
		flush() // the last may have failed
		select {
		case <-dropped:
		case <-timeout.C:
			return andon.Errorf(andon.Busy,
				"entries arrive faster than they are written in blocks: try again in a second")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// fullBoth returns a channel that is closed at the end of the flush while both memtables together
// are full; nil: there is memory left. While no flush runs the live one may take all of it.
func (h *Memory) fullBoth() <-chan struct{} {
	h.mu.RLock()
	defer h.mu.RUnlock()
	bytes := 0
	for _, head := range h.view() {
		bytes += head.Bytes()
	}
	if bytes < h.Limit {
		return nil
	}
	return h.dropped
}

// freeze is Flush.Freeze.
func (h *Memory) freeze(next uint64, rows int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.frozen == nil {
		h.frozen, h.live, h.next, h.rows = h.live, eventlog.NewHead(), next, rows
		h.flushed.Store(0)
	}
}

// late reports whether a flush is slower than requests: it should have written all entries by the
// time that the live memtable is half full.
func (h *Memory) late() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return 2*h.live.Bytes()*h.frozen.Entries() > int(h.flushed.Load())*h.Limit/2
}

// drop drops the frozen memtable.
func (h *Memory) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.frozen = nil
	close(h.dropped)
	h.dropped = make(chan struct{})
}

// forget drops the entries of a device.
func (h *Memory) forget(tenant, device uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, head := range h.view() {
		head.Forget(tenant, device)
	}
}

// forgetTenant drops a tenant.
func (h *Memory) forgetTenant(tenant uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, head := range h.view() {
		head.ForgetTenant(tenant)
	}
}

// view returns the memtables, the newer one first. The caller has mu.
func (h *Memory) view() []*eventlog.Head {
	if h.frozen == nil {
		return []*eventlog.Head{h.live}
	}
	return []*eventlog.Head{h.live, h.frozen}
}

// View is the memtables as they were when a reader began: what comes later may be in it, what was
// there stays. A reader takes it before it opens an iterator: a flush that ends in between leaves
// an entry in both, and the other way round in none.
type View struct {
	mu        *engine.RWMutex
	memtables []*eventlog.Head
}

// View returns the memtables of now.
func (h *Memory) View() View {
	if h.Looking != nil {
		h.Looking()
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	return View{&h.mu, h.view()}
}

// Len returns how many memtables there are, the newer one first.
func (v View) Len() int { return len(v.memtables) }

// Walk visits the entries of a device in one of the memtables that are within a span, until visit
// returns false. Of several with one identity the first that it visits wins, and those of an
// earlier memtable before. sorted says that they go strictly from new to old.
func (v View) Walk(
	n int, tenant, device uint32, span andon.Span,
	visit func(e eventlog.Entry, sorted bool) bool,
) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	h := v.memtables[n]
	sorted := h.Sorted(tenant, device)
	h.WalkIn(tenant, device, span, func(e eventlog.Entry) bool { return visit(e, sorted) })
}

// Find returns the entry with an identity, if a memtable has it: of several the one that wins. What
// a memtable has is not changed, so its texts stay.
func (v View) Find(
	tenant, device uint32, at andon.Time, state andon.State,
) (e eventlog.Entry, ok bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.findLocked(tenant, device, at, state)
}

// Find is View.Find of one tenant.
type Find func(device uint32, at andon.Time, state andon.State) (eventlog.Entry, bool)

// LookUp calls do with what finds entries of a tenant, under one lock for all of them.
func (v View) LookUp(tenant uint32, do func(find Find)) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	do(func(device uint32, at andon.Time, state andon.State) (eventlog.Entry, bool) {
		return v.findLocked(tenant, device, at, state)
	})
}

// findLocked is Find for a caller that has mu.
func (v View) findLocked(
	tenant, device uint32, at andon.Time, state andon.State,
) (e eventlog.Entry, ok bool) {
	for _, h := range v.memtables {
		if e, ok = h.Find(tenant, device, at, state); ok {
			break
		}
	}
	return e, ok
}

// Days returns the days on which a tenant has entries, some more than once.
func (v View) Days(tenant uint32) (all []uint32) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, h := range v.memtables {
		all = append(all, h.Days(tenant)...)
	}
	return all
}

// Count returns a number that is above that of each device of a tenant with an entry.
func (v View) Count(tenant uint32) (most int) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, h := range v.memtables {
		most = max(most, h.Devices(tenant))
	}
	return most
}

// Hours returns the hours of an operator, in ascending order.
func (v View) Hours(tenant uint32, operator andon.PersonID) []uint32 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var all []uint32
	for _, h := range v.memtables {
		all = append(all, h.Hours(tenant, operator)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// AppendHour appends the devices of an operator in an hour, some more than once.
func (v View) AppendHour(
	devices []layout.InHour, tenant uint32, operator andon.PersonID, hour uint32,
) []layout.InHour {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, h := range v.memtables {
		devices = h.AppendHour(devices, tenant, operator, hour)
	}
	return devices
}

// Operators returns who answers for entries.
func (v View) Operators(tenant uint32) (all []andon.PersonID) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, h := range v.memtables {
		all = append(all, h.Operators(tenant)...)
	}
	return all
}
