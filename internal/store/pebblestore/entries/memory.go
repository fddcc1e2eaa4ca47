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
	live    *eventlog.Memtable
	frozen  *eventlog.Memtable // nil while there is no flush
	next    uint64             // the sequence after the rows of frozen
	rows    int64              // bytes of those rows, as they are unpacked
	dropped chan struct{}      // closed when frozen is dropped
	Limit   int                // bytes of both
	flushed atomic.Int64       // entries of frozen
	Waits   atomic.Int64       // writes that waited because both were full
	Looking func()             // called before a reader looks into memory; nil, but in tests

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

func (m *Memory) begin(most int, timeout time.Duration) {
	m.live, m.Limit, m.timeout = eventlog.NewMemtable(), most, timeout
	m.dropped = make(chan struct{})
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
func (m *Memory) Add(a Added) error {
	const step = 256 // devices in one go, so that readers are not held up
	m.names = a.Names.Append(m.names[:0])
	if _, err := m.row.ReadNames(m.names); err != nil {
		return err
	}
	for from := 0; from < a.Devices; from += step {
		if err := m.addSome(a, from, min(from+step, a.Devices)); err != nil {
			return err
		}
	}
	return nil
}

func (m *Memory) addSome(a Added, from, to int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := from; i < to; i++ {
		number, encoded := a.Device(i)
		var full error
		_, _, err := m.row.ReadEntries(encoded, a.Received, func(e eventlog.Entry) {
			if err := m.live.Add(a.Tenant, number, e); err != nil {
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
func (m *Memory) Loading() *eventlog.Memtable { return m.live }

// Bytes is about how much memory the entries take.
func (m *Memory) Bytes() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.bytes()
}

// bytes is Bytes for a caller that has mu.
func (m *Memory) bytes() (n int) {
	for _, t := range m.view() {
		n += t.Bytes()
	}
	return n
}

// Entries returns how many entries there are.
func (m *Memory) Entries() (n int) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, t := range m.view() {
		n += t.Entries()
	}
	return n
}

// Full reports whether the live memtable is to be frozen.
func (m *Memory) Full() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.live.Bytes() >= m.Limit/2
}

// Wait waits while the memtables are full: a flush is writing one of them, or can't begin because
// of a deletion. It is Busy where that takes longer than the timeout. flush asks for a flush.
func (m *Memory) Wait(ctx context.Context, flush func()) error {
	dropped := m.fullBoth()
	if dropped == nil {
		return nil
	}
	m.Waits.Add(1)
	timeout := time.NewTimer(m.timeout)
	defer timeout.Stop()
	for ; dropped != nil; dropped = m.fullBoth() {
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
func (m *Memory) fullBoth() <-chan struct{} {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.bytes() < m.Limit {
		return nil
	}
	return m.dropped
}

// freeze is Flush.Freeze.
func (m *Memory) freeze(next uint64, rows int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.frozen == nil {
		m.frozen, m.live, m.next, m.rows = m.live, eventlog.NewMemtable(), next, rows
		m.flushed.Store(0)
	}
}

// late reports whether a flush is slower than requests: it should have written all entries by the
// time that the live memtable is half full.
func (m *Memory) late() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return 2*m.live.Bytes()*m.frozen.Entries() > int(m.flushed.Load())*m.Limit/2
}

func (m *Memory) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.frozen = nil
	close(m.dropped)
	m.dropped = make(chan struct{})
}

func (m *Memory) forget(tenant, device uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.view() {
		t.Forget(tenant, device)
	}
}

func (m *Memory) forgetTenant(tenant uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.view() {
		t.ForgetTenant(tenant)
	}
}

// view returns the memtables, the newer one first. The caller has mu.
func (m *Memory) view() []*eventlog.Memtable {
	if m.frozen == nil {
		return []*eventlog.Memtable{m.live}
	}
	return []*eventlog.Memtable{m.live, m.frozen}
}

// View is the memtables as they were when a reader began: what comes later may be in it, what was
// there stays. A reader takes it before it opens an iterator: a flush that ends in between leaves
// an entry in both, and in the other order in none.
type View struct {
	mu        *engine.RWMutex
	memtables []*eventlog.Memtable
}

// View returns the memtables of now.
func (m *Memory) View() View {
	if m.Looking != nil {
		m.Looking()
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return View{&m.mu, m.view()}
}

// takesInto reports whether new entries still go into the memtables of a view.
func (m *Memory) takesInto(v View) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.live == v.memtables[0]
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
	m := v.memtables[n]
	sorted := m.Sorted(tenant, device)
	m.WalkIn(tenant, device, span, func(e eventlog.Entry) bool { return visit(e, sorted) })
}

// each visits the memtables, the newer one first.
func (v View) each(visit func(m *eventlog.Memtable)) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, m := range v.memtables {
		visit(m)
	}
}

// Days returns the days on which a tenant has entries, some more than once.
func (v View) Days(tenant uint32) (all []uint32) {
	v.each(func(m *eventlog.Memtable) { all = append(all, m.Days(tenant)...) })
	return all
}

// Count returns a number that is above that of each device of a tenant with an entry.
func (v View) Count(tenant uint32) (most int) {
	v.each(func(m *eventlog.Memtable) { most = max(most, m.Devices(tenant)) })
	return most
}

// Hours returns the hours of an operator, in ascending order.
func (v View) Hours(tenant uint32, operator andon.PersonID) (all []uint32) {
	v.each(func(m *eventlog.Memtable) { all = append(all, m.Hours(tenant, operator)...) })
	slices.Sort(all)
	return slices.Compact(all)
}

// AppendHour appends the devices of an operator in an hour, some more than once.
func (v View) AppendHour(
	devices []layout.InHour, tenant uint32, operator andon.PersonID, hour uint32,
) []layout.InHour {
	v.each(func(m *eventlog.Memtable) {
		devices = m.AppendHour(devices, tenant, operator, hour)
	})
	return devices
}

// Operators returns the operators of entries, some more than once.
func (v View) Operators(tenant uint32) (all []andon.PersonID) {
	v.each(func(m *eventlog.Memtable) { all = append(all, m.Operators(tenant)...) })
	return all
}
