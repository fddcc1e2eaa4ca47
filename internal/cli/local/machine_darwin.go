package local

import "syscall"

// ReadMachine asks the kernel for the limits of this process.
func ReadMachine() Machine {
	return Machine{Files: limitOf(syscall.RLIMIT_NOFILE), FileSize: limitOf(syscall.RLIMIT_FSIZE)}
}

func limitOf(resource int) uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(resource, &limit); err != nil {
		return 0
	}
	return limit.Cur
}
