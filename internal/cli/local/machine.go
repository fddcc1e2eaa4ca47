package local

import (
	"time"
)

// Machine is what this machine says of itself. What it does not say is the zero value, and then
// nothing is found about it.
type Machine struct {
	Now    time.Time
	Built  time.Time // when the commit was made that this program is of
	Synced *bool     // whether something keeps the clock right

	Files    uint64 // how many a process may have open
	FileSize uint64 // how large one may become

	Memory       uint64 // bytes that this process can have
	MemorySource string
	Cpus         int
}
