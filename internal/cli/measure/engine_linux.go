package measure

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// localEngine returns what tells the processor time of the process that listens at an address of
// this machine; nil where it is elsewhere, or may not be looked at.
func localEngine(host string) func() time.Duration {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, "9042"
	}
	addresses, err := net.LookupIP(name)
	if err != nil || len(addresses) == 0 || !addresses[0].IsLoopback() {
		return nil
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil
	}
	pid := listener(number)
	if pid == "" {
		return nil
	}
	return func() time.Duration { return processorTime(pid) }
}

// listener returns the number of the process that listens on a port; "" where it can't be seen.
func listener(port int) string {
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			const local, state, inode, listening = 1, 3, 9, "0A"
			f := strings.Fields(line)
			if len(f) > inode && f[state] == listening &&
				strings.HasSuffix(f[local], fmt.Sprintf(":%04X", port)) {
				sockets["socket:["+f[inode]+"]"] = true
			}
		}
	}
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, name := range open {
		if to, err := os.Readlink(name); err == nil && sockets[to] {
			return strings.Split(name, "/")[2]
		}
	}
	return ""
}

// processorTime is what a process has taken so far, in hundredths of a second.
func processorTime(pid string) time.Duration {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // behind its name
	const user, system = 11, 12
	f := strings.Fields(rest)
	if len(f) <= system {
		return 0
	}
	mine, _ := strconv.Atoi(f[user])
	kernels, _ := strconv.Atoi(f[system])
	return time.Duration(mine+kernels) * 10 * time.Millisecond
}
