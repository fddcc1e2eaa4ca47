//go:build !linux

package app

// LookAtDisk says that this operating system is not asked.
func LookAtDisk(string) (Disk, error) { return Disk{Unsupported: true}, nil }
