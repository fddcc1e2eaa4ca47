package enginetest

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// CPUTime is the processor time that a process took so far; 0 where it can't be seen.
func CPUTime(pid int) time.Duration {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // after its name
	f := strings.Fields(rest)
	const user, system = 11, 12 // in hundredths of a second
	if len(f) <= system {
		return 0
	}
	mine, _ := strconv.Atoi(f[user])
	kernels, _ := strconv.Atoi(f[system])
	return time.Duration(mine+kernels) * 10 * time.Millisecond
}

// CPUTime is the processor time that a service took so far; 0 where it was not started here.
func (s *Service) CPUTime() time.Duration { return s.process.cpuTime() }

// CPUTime is that of a node.
func (n *Node) CPUTime() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process.cpuTime()
}

func (p *process) cpuTime() time.Duration {
	if p == nil {
		return 0
	}
	return CPUTime(p.os.Pid)
}
