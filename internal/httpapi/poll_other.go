//go:build !unix

package httpapi

// readNow leaves it to the next read.
func readNow(uintptr, []byte) int { return 0 }
