package local

import (
	"time"
)

// Machine has facts about this machine. What the system does not report is the zero value.
type Machine struct {
	Now    time.Time
	Built  time.Time // the commit of this program
	Synced *bool     // whether the clock is synchronised

	Files    uint64 // that a process may have open
	FileSize uint64 // at most

	Memory       uint64 // bytes that this process can use
	MemorySource string
	Cpus         int
}
