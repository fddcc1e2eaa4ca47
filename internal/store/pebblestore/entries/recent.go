package entries

import (
	"strings"
	"sync/atomic"

	"github.com/andonhq/andon"
)

// recent remembers entries that were found in blocks, and escalations that devices show, as lists
// of what is open now look for the same ones again and again. Each is remembered with how often its
// device had changed: every delivery and every escalation changes the device, after it can be read.
// So what is remembered of a device that has not changed since is what is stored.
type recent struct {
	places      [recentEntries]atomic.Pointer[remembered]
	escalations [recentEscalations]atomic.Pointer[escalated]
}

const (
	// recentEntries is how many entries are remembered at most.
	recentEntries = 1 << 16
	// recentEscalations is how many escalations are remembered at most.
	recentEscalations = 1 << 14
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

const golden = 0x9E3779B97F4A7C15 // spreads numbers that are next to each other

// place returns where an entry is remembered, together with others.
func (c *recent) place(tenant, device uint32, at andon.Time) *atomic.Pointer[remembered] {
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

func (c *recent) escalation(tenant, device uint32) *atomic.Pointer[escalated] {
	sum := (uint64(tenant)<<32 | uint64(device)) * golden
	return &c.escalations[sum>>50]
}

// findEscalation completes the escalation that a device shows, where it is remembered. e has the
// entry and the supervisor, and w is an entry of the device.
func (c *recent) findEscalation(tenant uint32, w *wanted, e *andon.Escalation) bool {
	if !w.numbered {
		return false
	}
	m := c.escalation(tenant, w.device.number).Load()
	if m == nil || m.tenant != tenant || m.device != w.device.number || m.changes != w.changes {
		return false
	}
	is := &m.escalation
	if is.Time != e.Time || is.State != e.State || is.To != e.To {
		return false
	}
	e.At, e.By, e.Note = is.At, is.By, is.Note
	return true
}

// addEscalation remembers the escalation that a device shows. It was read after w.changes.
func (c *recent) addEscalation(tenant uint32, w *wanted, e *andon.Escalation) {
	if w.numbered && len(e.Note) <= recentBytes {
		m := &escalated{
			tenant: tenant, device: w.device.number, changes: w.changes, escalation: *e,
		}
		m.escalation.Device = "" // it may be a part of a request
		c.escalation(tenant, w.device.number).Store(m)
	}
}

// forget forgets everything: some of it is being deleted.
func (c *recent) forget() {
	for i := range c.escalations {
		c.escalations[i].Store(nil)
	}
	for i := range c.places {
		c.places[i].Store(nil)
	}
}
