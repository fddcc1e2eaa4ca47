package local

// Machine has facts about this machine. What the system does not report is the zero value.
type Machine struct {
	Synced       *bool  // whether the clock is synchronised
	Files        uint64 // that a process may have open
	Memory       uint64 // bytes that this process can use
	MemorySource string
}
