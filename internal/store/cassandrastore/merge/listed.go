package merge

import (
	"slices"
	"strings"
	"sync"

	"github.com/andonhq/andon"
)

// Listed remembers the devices that were read for the first page of a list for which all of them
// must be read, and those that came into it since: a device that is on the list from its first page
// on is not missing. Only a process that is alone may go by it.
type Listed struct {
	mu      sync.Mutex
	reading int              // the newest, in progress or kept
	tenant  string           // of that
	added   []andon.DeviceID // of that tenant, since the reading began
	key     string           // of what is kept
	read    Moment           // when it was begun to be read
	ids     []andon.DeviceID
}

// mostAdded is how many changes are taken in before the list is forgotten.
const mostAdded = 10_000

// Begin forgets what was kept, before a tenant's devices are read.
func (l *Listed) Begin(tenant string) (reading int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
	l.reading++
	l.tenant = tenant
	return l.reading
}

func (l *Listed) forget() { l.tenant, l.key, l.ids, l.added = "", "", nil, nil }

// Keep keeps what was read, in order, under a key of what was asked for, unless another reading
// began meanwhile.
func (l *Listed) Keep(reading int, key string, read Moment, ids []andon.DeviceID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reading == reading && l.tenant != "" {
		l.key, l.read, l.ids = key, read, ids
	}
}

// Add notes that a device may have come into the list.
func (l *Listed) Add(tenant string, device andon.DeviceID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tenant != tenant {
		return
	}
	l.added = append(l.added, andon.DeviceID(strings.Clone(string(device))))
	if len(l.added) > mostAdded {
		l.forget()
	}
}

// From returns what is kept under a key from a device on; not ok where that is nothing, or was read
// before alone, since when no other process can have written.
func (l *Listed) From(
	key string, alone Moment, from andon.DeviceID,
) (ids []andon.DeviceID, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key == "" || l.key != key || l.read < alone {
		return nil, false
	}
	if len(l.added) > 0 {
		l.ids = slices.Concat(l.ids, l.added)
		slices.Sort(l.ids)
		l.ids, l.added = slices.Compact(l.ids), nil
	}
	at, _ := slices.BinarySearch(l.ids, from)
	return l.ids[at:], true
}
