package enginetest

import (
	"fmt"
	"os"
	"syscall"
)

// lock waits until this process alone holds a file, which it makes where there is none. The kernel
// releases it when the process dies.
func lock(path string) (unlock func(), err error) { return flock(path, syscall.LOCK_EX) }

// tryLock is lock without waiting: an error where another process holds the file.
func tryLock(path string) (unlock func(), err error) {
	return flock(path, syscall.LOCK_EX|syscall.LOCK_NB)
}

func flock(path string, how int) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
