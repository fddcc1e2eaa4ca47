package local

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ReadMachine returns what the kernel reports.
func ReadMachine() Machine {
	var m Machine
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil {
		m.Files = limit.Cur
	}
	var clock syscall.Timex
	const unsynced = 5 // TIME_ERROR of adjtimex(2)
	if state, err := syscall.Adjtimex(&clock); err == nil {
		m.Synced = new(state != unsynced)
	}
	m.Memory, m.MemorySource = memory()
	return m
}

// memory returns the memory that this process can use: the machine's, or the limit of the control
// group.
func memory() (bytes uint64, source string) {
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) == 3 && fields[0] == "MemTotal:" {
				kilobytes, _ := strconv.ParseUint(fields[1], 10, 54)
				bytes, source = kilobytes<<10, "/proc/meminfo"
			}
		}
	}
	for _, file := range []string{
		"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && (bytes == 0 || n < bytes) { // "max" is no number
			bytes, source = n, file
		}
	}
	return bytes, source
}
