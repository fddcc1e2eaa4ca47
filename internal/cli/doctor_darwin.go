package cli

import "syscall"

// readMachine asks the kernel for the limits of this process.
func readMachine() machine {
	return machine{files: limitOf(syscall.RLIMIT_NOFILE), fileSize: limitOf(syscall.RLIMIT_FSIZE)}
}

func limitOf(resource int) uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(resource, &limit); err != nil {
		return 0
	}
	return limit.Cur
}
