package measure

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
)

// benchMachine is what figures depend on. What the machine does not say is the zero value.
type benchMachine struct {
	CPU        string `json:"cpu,omitempty"`
	Processors int    `json:"processors"` // that this process may use
	Memory     uint64 `json:"memory_bytes,omitempty"`
	System     string `json:"system"`
	Kernel     string `json:"kernel,omitempty"`
	Go         string `json:"go"`
	Directory  string `json:"directory"`      // where the stores were made
	Disk       string `json:"disk,omitempty"` // its kind of file system
	Passing    string `json:"-"`              // why that is no disk to measure on
}

// describeMachine describes the machine with the disk that dir is on.
func (b *benchmark) describeMachine(dir string) benchMachine {
	cpu, kernel := processorAndKernel()
	m := benchMachine{
		CPU: cpu, Processors: runtime.GOMAXPROCS(0), Memory: local.ReadMachine().Memory,
		System: runtime.GOOS + "/" + runtime.GOARCH, Kernel: kernel, Go: runtime.Version(),
		Directory: dir,
	}
	if b.keep == "" {
		m.Directory = filepath.Dir(dir) // the one that is removed says nothing
	}
	if disk, err := app.LookAtDisk(dir); err == nil {
		m.Disk, m.Passing = disk.Type, disk.Passing
	}
	return m
}

// String returns the machine as a line.
func (m benchMachine) String() string {
	parts := []string{draw.Count(m.Processors, "processor")}
	if m.CPU != "" {
		parts[0] += " (" + m.CPU + ")"
	}
	if m.Memory > 0 {
		parts = append(parts, draw.Bytes(m.Memory)+" of memory")
	}
	parts = append(parts, strings.TrimSpace(m.System+" "+m.Kernel), m.Go)
	where := m.Directory
	if m.Disk != "" {
		where += " (" + m.Disk + ")"
	}
	return fmt.Sprintf("%s, %s", strings.Join(parts, ", "), where)
}
