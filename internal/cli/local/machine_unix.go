//go:build linux || darwin

package local

import "syscall"

// limitOf returns a limit of this process, or 0 if the kernel does not report it.
func limitOf(resource int) uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(resource, &limit); err != nil {
		return 0
	}
	return limit.Cur
}
