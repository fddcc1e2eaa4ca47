//go:build !linux

package local

// ReadMachine knows nothing of this operating system.
func ReadMachine() Machine { return Machine{} }
