package lease

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// NewOwner returns a name for this process. Others on its machine see by it when the process has
// ended, so they need not wait until its leases are over: the name says which processes see each
// other, has the number of this one, and is never used again.
func NewOwner() string {
	boot, unknown := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, hidden := os.Readlink("/proc/self/ns/pid") // in a container numbers are others
	host, nameless := os.Hostname()
	if errors.Join(unknown, hidden, nameless) != nil {
		return rand.Text()
	}
	here := sha256.Sum256([]byte(string(boot) + space + host))
	return strings.Join([]string{
		hex.EncodeToString(here[:8]), strconv.Itoa(os.Getpid()), rand.Text(),
	}, "-")
}

// hasEnded reports whether another process is known to have ended: one of this machine whose number
// nobody has.
func (h *Holder) hasEnded(owner string) bool {
	here, _, known := strings.Cut(h.Owner, "-")
	rest, near := strings.CutPrefix(owner, here+"-")
	number, _, _ := strings.Cut(rest, "-")
	id, err := strconv.Atoi(number)
	if !known || !near || err != nil {
		return false
	}
	p, err := os.FindProcess(id)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
