package entries

import (
	"strings"
	"sync/atomic"

	"github.com/andonhq/andon"
)

// recent remembers entries that were found in blocks, and the newest escalations of entries, as
// lists of what is open now look for the same ones again and again. Each is remembered with how
// often its device had changed: every delivery and every escalation changes the device, after it
// can be read. So what is remembered of a device that has not changed since is what is stored.
type recent struct {
	entries     [recentEntries]atomic.Pointer[remembered]
	escalations [recentEntries]atomic.Pointer[escalated]
}

const (
	// recentEntries is how many entries are remembered at most, and how many escalations.
	recentEntries = 1 << 16
	// recentBytes is how large the texts of one may be.
	recentBytes = 1 << 10
)

// remembered is one entry. It is never changed.
type remembered struct {
	tenant, device, changes uint32
	event                   andon.Event
}

// escalated is the newest escalation of an entry. It is never changed.
type escalated struct {
	tenant, device, changes uint32
	escalation              andon.Escalation
}

// place returns where an entry is remembered, together with others.
func place(tenant, device uint32, at andon.Time) uint64 {
	const golden = 0x9E3779B97F4A7C15 // spreads numbers that are next to each other
	sum := (uint64(tenant)<<32 | uint64(device)) * golden
	sum = (sum ^ uint64(at)) * golden
	return sum >> 48 // of 1 << 16
}

// find fills in an entry that is remembered.
func (c *recent) find(tenant uint32, w *wanted) {
	m := c.entries[place(tenant, w.device.number, w.event.Time)].Load()
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
		c.entries[place(tenant, w.device.number, w.event.Time)].Store(m)
	}
}

// findEscalation completes the newest escalation of an entry of the device of w, where it is
// remembered. e has the entry.
func (c *recent) findEscalation(tenant uint32, w *wanted, e *andon.Escalation) bool {
	if !w.numbered {
		return false
	}
	m := c.escalations[place(tenant, w.device.number, e.Time)].Load()
	if m == nil || m.tenant != tenant || m.device != w.device.number || m.changes != w.changes ||
		m.escalation.Time != e.Time || m.escalation.State != e.State {
		return false
	}
	device := e.Device
	*e = m.escalation
	e.Device = device
	return true
}

// addEscalation remembers the newest escalation of an entry. It was read after w.changes.
func (c *recent) addEscalation(tenant uint32, w *wanted, e *andon.Escalation) {
	if w.numbered && len(e.Note) <= recentBytes {
		m := &escalated{
			tenant: tenant, device: w.device.number, changes: w.changes, escalation: *e,
		}
		m.escalation.Device = "" // it may be a part of a request, as the state
		m.escalation.State = andon.State(strings.Clone(string(e.State)))
		c.escalations[place(tenant, w.device.number, e.Time)].Store(m)
	}
}

// forget forgets everything: some of it is being deleted.
func (c *recent) forget() {
	for i := range c.entries {
		c.entries[i].Store(nil)
		c.escalations[i].Store(nil)
	}
}
