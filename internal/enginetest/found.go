package enginetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Found is a node of another process, by its directory.
type Found struct {
	Dir  string
	Addr string // where it answers CQL while it runs
	PID  int    // 0: it does not run
}

// Find looks for a node in a directory. Where none ever ran the error is fs.ErrNotExist.
func Find(dir string) (Found, error) {
	f := Found{Dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, setupFile))
	if err != nil {
		return f, err
	}
	var s setup
	if err := json.Unmarshal(text, &s); err != nil {
		return f, fmt.Errorf("read %s: %w", setupFile, err)
	}
	f.Addr = s.Address
	unlock, err := tryLock(filepath.Join(dir, lockFile))
	if err == nil {
		unlock()
		return f, nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return f, err
	}
	// The lock is held, so the number is that of the node and of no later process.
	digits, err := os.ReadFile(filepath.Join(dir, pidFile))
	if err != nil {
		return f, fmt.Errorf("a node starts, or ends, in %s: try again: %v", dir, err)
	}
	f.PID, err = strconv.Atoi(strings.TrimSpace(string(digits)))
	return f, err
}
