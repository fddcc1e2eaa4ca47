package entries

import (
	"strings"
	"sync/atomic"

	"github.com/andonhq/andon"
)

// recent remembers entries that were found in blocks, as lists of what is open now look for the
// same ones again and again. An entry is remembered with how often its device had changed: every
// delivery changes the device, after it is in memory. So what is remembered of a device that has
// not changed since is what is stored.
type recent struct {
	places [recentEntries]atomic.Pointer[remembered]
}

const (
	// recentEntries is how many entries are remembered at most.
	recentEntries = 1 << 16
	// recentBytes is how large the texts of one may be.
	recentBytes = 1 << 10
)

// remembered is one entry. It is never changed.
type remembered struct {
	tenant, device, changes uint32
	event                   andon.Event
}

// place returns where an entry is remembered, together with others.
func (c *recent) place(tenant, device uint32, at andon.Time) *atomic.Pointer[remembered] {
	const golden = 0x9E3779B97F4A7C15
	sum := (uint64(tenant)<<32 | uint64(device)) * golden
	sum = (sum ^ uint64(at)) * golden
	return &c.places[sum>>48]
}

// find fills in an entry that is remembered.
func (c *recent) find(tenant uint32, w *wanted) {
	m := c.place(tenant, w.device.number, w.event.Time).Load()
	if m != nil && m.tenant == tenant && m.device == w.device.number && m.changes == w.changes &&
		m.event.Time == w.event.Time && m.event.State == w.event.State {
		w.fill(&m.event)
	}
}

// add remembers an entry that was found.
func (c *recent) add(tenant uint32, w *wanted) {
	if len(w.event.Message)+len(w.event.Attributes) <= recentBytes {
		m := &remembered{
			tenant: tenant, device: w.device.number, changes: w.changes, event: *w.event,
		}
		m.event.Device = "" // it may be a part of a request
		m.event.State = andon.State(strings.Clone(string(w.event.State)))
		c.place(tenant, w.device.number, w.event.Time).Store(m)
	}
}

// forget forgets all entries: some are being deleted.
func (c *recent) forget() {
	for i := range c.places {
		c.places[i].Store(nil)
	}
}
