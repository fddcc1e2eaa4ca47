//go:build unix

package httpapi

import "syscall"

// readNow reads what is there, negative where nothing is.
func readNow(fd uintptr, into []byte) int {
	n, err := syscall.Read(int(fd), into)
	if err != nil {
		return -1
	}
	return n
}
