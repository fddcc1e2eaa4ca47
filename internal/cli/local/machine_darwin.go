package local

import "syscall"

// ReadMachine returns the limits of this process.
func ReadMachine() Machine {
	return Machine{Files: limitOf(syscall.RLIMIT_NOFILE), FileSize: limitOf(syscall.RLIMIT_FSIZE)}
}
