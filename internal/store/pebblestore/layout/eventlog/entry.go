// Package eventlog encodes the entries of a log in the three forms in which they are kept: the rows
// of requests, the memtable, and blocks by device and day. It is pure: it must not know an engine,
// a clock or locks. Devices are numbers here, which the store gives; tenants too.
package eventlog

import (
	"github.com/andonhq/andon"
)

// Entry is one entry of a device.
type Entry struct {
	Time       andon.Time
	State      andon.State
	Operator   andon.PersonID
	Message    []byte
	Attributes []byte
}

// CompareEntries is the order within a block: newest first, and at one instant by name of state.
func CompareEntries(a, b Entry) int {
	return andon.EventKey{Time: b.Time, State: b.State}.
		Compare(andon.EventKey{Time: a.Time, State: a.State})
}
