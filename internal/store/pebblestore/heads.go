package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// heads are the entries of all rows: those that a round is settling, and those behind it. Entries
// are added in the ordered section.
type heads struct {
	mu      sync.RWMutex
	live    *eventlog.Head
	frozen  *eventlog.Head // nil while there is no round
	behind  uint64         // the sequence behind the rows of frozen
	rows    int64          // bytes of those rows, as they are unpacked
	freed   chan struct{}  // closed when frozen is dropped
	most    int            // bytes of both
	settled atomic.Int64   // entries of frozen

	// patience is how long a write waits for a round before it has begun. A round that takes
	// longer, or fails again and again, is not to hold clients up: they are told to come back.
	patience time.Duration

	row   eventlog.Row // room for add, which is in the ordered section
	names []byte
}

// defaultHead is how much memory heads take. A round also writes each device that has changed since
// the last one, so that half of the head means up to twice as many of those.
const (
	defaultHead = 128 << 20
	leastHead   = 1 << 20
	mostHead    = eventlog.MostTexts / 2 // half of what all of its texts can be
)

// enoughHead is the rule of the setting.
func (o *Options) enoughHead() error {
	if o.Head < leastHead {
		return fmt.Errorf("is less than %d bytes, or 1MiB", leastHead)
	}
	if o.Head > mostHead {
		return fmt.Errorf("is more than %d bytes, or 2GiB", int64(mostHead))
	}
	return nil
}

func (h *heads) begin(most int, patience time.Duration) {
	h.live, h.most, h.patience = eventlog.NewHead(), most, patience
	h.freed = make(chan struct{})
}

// add takes in the entries of a write that has become pending. It reads them from the bytes of its
// rows, as opening does, so that what is in memory is what a restart would read.
func (h *heads) add(w *writing) error {
	const step = 256 // devices in one go, so that readers are not held up
	h.names = w.names.Append(h.names[:0])
	if _, err := h.row.ReadNames(h.names); err != nil {
		return err
	}
	for from := 0; from < len(w.folded); from += step {
		if err := h.addSome(w, from, min(from+step, len(w.folded))); err != nil {
			return err
		}
	}
	return nil
}

func (h *heads) addSome(w *writing, from, to int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := from; i < to; i++ {
		f, number := &w.folded[i], w.changes.Slot(i).Number()
		encoded := w.encoded[f.encoded[0]:f.encoded[1]]
		var full error
		_, _, err := h.row.ReadEntries(encoded, w.received, func(e eventlog.Entry) {
			if err := h.live.Add(w.tenant.number, number, e); err != nil {
				full = err
			}
		})
		if err := errors.Join(err, full); err != nil {
			return err
		}
	}
	return nil
}

// bytes is about how much memory the entries take.
func (h *heads) bytes() (n int) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, head := range h.view() {
		n += head.Bytes()
	}
	return n
}

// full reports whether the live head is to be frozen.
func (h *heads) full() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.live.Bytes() >= h.most/2
}

// awaitRoom waits while the heads are full: a round is settling one of them, or can't begin because
// something else keeps it from that. It is Busy where that takes longer than its patience.
func (h *heads) awaitRoom(ctx context.Context, s *Store) error {
	freed := h.crowded()
	if freed == nil {
		return nil
	}
	s.rounds.waits.Add(1)
	patience := time.NewTimer(h.patience)
	defer patience.Stop()
	for ; freed != nil; freed = h.crowded() {
		s.checkpoints.Want() // the round may have failed
		select {
		case <-freed:
		case <-patience.C:
			return andon.Errorf(andon.Busy,
				"entries arrive faster than they are settled in blocks: try again in a second")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// crowded returns what is closed with the end of the round while both heads together are full; nil:
// there is memory left. While no round runs the live one may take all of it.
func (h *heads) crowded() <-chan struct{} {
	h.mu.RLock()
	defer h.mu.RUnlock()
	bytes := 0
	for _, head := range h.view() {
		bytes += head.Bytes()
	}
	if bytes < h.most {
		return nil
	}
	return h.freed
}

// freeze begins a round, unless one that failed is to be done again: all rows before a sequence are
// in frozen, which have so many bytes. It belongs to the ordered section.
func (h *heads) freeze(next uint64, rows int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.frozen == nil {
		h.frozen, h.live, h.behind, h.rows = h.live, eventlog.NewHead(), next, rows
		h.settled.Store(0)
	}
}

// late reports whether a round is behind the requests: it should have settled all entries by the
// time that the live head is half full.
func (h *heads) late() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return 2*h.live.Bytes()*h.frozen.Entries() > int(h.settled.Load())*h.most/2
}

// drop ends a round.
func (h *heads) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.frozen = nil
	close(h.freed)
	h.freed = make(chan struct{})
}

// forget drops the entries of a device.
func (h *heads) forget(tenant, device uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, head := range h.view() {
		head.Forget(tenant, device)
	}
}

// forgetTenant drops a tenant.
func (h *heads) forgetTenant(tenant uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, head := range h.view() {
		head.ForgetTenant(tenant)
	}
}

// view returns the heads, the newer one first. The caller has mu.
func (h *heads) view() []*eventlog.Head {
	if h.frozen == nil {
		return []*eventlog.Head{h.live}
	}
	return []*eventlog.Head{h.live, h.frozen}
}

// headView is the heads as they were when a reader began: what comes later may be in it, what was
// there stays. A reader takes it before it opens an iterator: a round that ends between leaves an
// entry in both, and the other way round in none.
type headView struct {
	mu    *sync.RWMutex
	heads []*eventlog.Head
}

func (h *heads) look() headView {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return headView{&h.mu, h.view()}
}

// walk visits the entries of a device in one of the heads that are within a span, until visit
// returns false. Of several with one identity the first that it visits counts, and those of an
// earlier head before. sorted says that they go strictly from new to old.
func (v headView) walk(
	head int, tenant, device uint32, span andon.Span,
	visit func(e eventlog.Entry, sorted bool) bool,
) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	h := v.heads[head]
	sorted := h.Sorted(tenant, device)
	h.WalkIn(tenant, device, span, func(e eventlog.Entry) bool { return visit(e, sorted) })
}

// find returns the entry with an identity, if a head has it: of several the one that counts. What a
// head has is not changed, so its texts stay.
func (v headView) find(
	tenant, device uint32, at andon.Time, state andon.State,
) (e eventlog.Entry, ok bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.findLocked(tenant, device, at, state)
}

// findLocked is find for a caller that has mu.
func (v headView) findLocked(
	tenant, device uint32, at andon.Time, state andon.State,
) (e eventlog.Entry, ok bool) {
	for _, h := range v.heads {
		if e, ok = h.Find(tenant, device, at, state); ok {
			break
		}
	}
	return e, ok
}

// days returns the days on which a tenant has entries, some more than once.
func (v headView) days(tenant uint32) (all []uint32) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, h := range v.heads {
		all = append(all, h.Days(tenant)...)
	}
	return all
}

// count returns a number that is above that of each device of a tenant with an entry.
func (v headView) count(tenant uint32) (most int) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, h := range v.heads {
		most = max(most, h.Devices(tenant))
	}
	return most
}

// hours returns the hours of an operator, in ascending order.
func (v headView) hours(tenant uint32, operator andon.PersonID) []uint32 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var all []uint32
	for _, h := range v.heads {
		all = append(all, h.Hours(tenant, operator)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// appendHour appends the devices of an operator in an hour, some more than once.
func (v headView) appendHour(
	devices []layout.InHour, tenant uint32, operator andon.PersonID, hour uint32,
) []layout.InHour {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, h := range v.heads {
		devices = h.AppendHour(devices, tenant, operator, hour)
	}
	return devices
}

// operators returns who answers for entries.
func (v headView) operators(tenant uint32) (all []andon.PersonID) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, h := range v.heads {
		all = append(all, h.Operators(tenant)...)
	}
	return all
}
