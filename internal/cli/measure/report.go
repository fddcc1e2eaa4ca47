package measure

import (
	"fmt"
	"runtime"
	"time"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
)

type report struct {
	Version  client.Version `json:"version"`
	Machine  machine        `json:"machine"`
	Devices  int            `json:"devices"`
	Events   int            `json:"events"` // before anything was measured
	Seed     uint64         `json:"seed"`
	Duration time.Duration  `json:"duration_ns"` // of each load
	Subject  string         `json:"subject"`
	Engine   string         `json:"engine"` // of the subject, with its version
	Rows     []bench.Row    `json:"rows"`
}

// machine is what figures depend on. What the machine does not say is the zero value.
type machine struct {
	Processors int    `json:"processors"` // that this process may use
	Memory     uint64 `json:"memory_bytes,omitempty"`
	System     string `json:"system"`
	Go         string `json:"go"`
	Directory  string `json:"directory"`      // of the stores
	Disk       string `json:"disk,omitempty"` // its kind of file system
}

// describe returns what figures of stores in a directory depend on. It warns where they would not
// be of a disk.
func describe(p *command.Program, dir string) machine {
	m := machine{
		Processors: runtime.GOMAXPROCS(0), Memory: local.ReadMachine().Memory,
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Directory: dir,
	}
	if disk, err := app.LookAtDisk(dir); err == nil {
		if m.Disk = disk.Type; disk.Passing != "" {
			fmt.Fprintf(p.Stderr, "Note: %s is %s: %s. TMPDIR names another directory.\n", dir,
				m.Disk, disk.Passing)
		}
	}
	return m
}

func (r *report) print(p *command.Program, format string) error {
	if format == command.FormatJSON {
		return p.PrintJSON(r)
	}
	out, m := p.Printer(), r.Machine
	out.Line("%s", command.VersionLine(r.Version))
	out.Line("%s, %s of memory, %s, %s, %s (%s)", draw.Count(m.Processors, "processor"),
		draw.Bytes(m.Memory), m.System, m.Go, m.Directory, m.Disk)
	out.Line("%s devices, %s events at first, seed %d, %s a load", draw.Grouped(r.Devices),
		draw.Grouped(r.Events), r.Seed, r.Duration)
	out.Line("%s: %s\n", r.Subject, r.Engine)
	var rows [][]draw.Cell
	for _, texts := range bench.Table(r.Rows, "OF CEILING") {
		row := draw.Texts(texts...)
		for i := 2; i < len(row); i++ { // after the names
			row[i].Right = true
		}
		rows = append(rows, row)
	}
	out.Table(rows)
	return nil
}
