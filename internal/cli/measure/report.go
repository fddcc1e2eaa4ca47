package measure

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
)

// report is all that was measured, and on what.
type report struct {
	Version  client.Version `json:"version"`
	Machine  machine        `json:"machine"`
	Devices  int            `json:"devices"`
	Events   int            `json:"events"` // before anything was measured
	Seed     uint64         `json:"seed"`
	Duration time.Duration  `json:"duration_ns"` // of each load
	Engines  []engine       `json:"engines"`
	Rows     []bench.Row    `json:"rows"`
}

// engine is what a subject keeps its events in.
type engine struct {
	Subject string `json:"subject"`
	Engine  string `json:"engine"` // with its version
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

// describe fills in what is known before anything is measured. It warns where the figures would not
// be of a disk.
func (b *benchmark) describe(dir string) {
	if b.keep == "" {
		dir = filepath.Dir(dir) // the temporary one says nothing
	}
	m := machine{
		Processors: runtime.GOMAXPROCS(0), Memory: local.ReadMachine().Memory,
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Directory: dir,
	}
	if disk, err := app.LookAtDisk(dir); err == nil {
		if m.Disk = disk.Type; disk.Passing != "" {
			fmt.Fprintf(b.Stderr, "Note: %s is %s: %s. TMPDIR names another directory.\n", dir,
				m.Disk, disk.Passing)
		}
	}
	o := &b.options
	b.report = report{
		Version: b.Version, Machine: m, Devices: o.Devices,
		Events: o.Events / o.Devices * o.Devices, Seed: o.Seed, Duration: o.Duration,
	}
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
	for _, e := range r.Engines {
		out.Line("%s: %s", e.Subject, e.Engine)
	}
	out.Line("")
	out.Table(r.table())
	return nil
}

func (r *report) table() [][]draw.Cell {
	rows := [][]draw.Cell{draw.Texts("SUBJECT", "LOAD", "IN FLIGHT", "OPS/S", "EVENTS/S", "P50",
		"P99", "OF CEILING", "CEILING P99", "BYTES/EVENT", "CPU", "WRITTEN/EVENT", "MEMORY")}
	for _, row := range r.Rows {
		rows = append(rows, draw.Texts(row.Subject, row.Load, strconv.Itoa(row.InFlight),
			rateText(row.OpsRate), maybe(row.EventsRate, rateText), timeText(row.P50),
			timeText(row.P99), maybe(row.OfCeiling, rateText), maybe(row.CeilingP99, timeText),
			maybe(row.BytesPerEvent, rateText), maybe(row.CPU, timeText),
			maybe(row.WrittenPerEvent, rateText),
			maybe(row.Memory, func(n int64) string { return draw.Bytes(uint64(n)) })))
	}
	used := slices.ContainsFunc(r.Rows, func(row bench.Row) bool { return row.CPU != nil })
	for i, row := range rows {
		if !used { // only a server says what it used
			rows[i] = row[:len(row)-3]
		}
		for j := 2; j < len(row); j++ { // after the names
			row[j].Right = true
		}
	}
	return rows
}

// maybe is the text of what was measured; what was not is empty.
func maybe[T any](x *T, text func(T) string) string {
	if x == nil {
		return ""
	}
	return text(*x)
}

// rateText shows no more digits than are worth reading.
func rateText(x float64) string {
	switch {
	case x >= 100:
		return draw.Grouped(int(x + 0.5))
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// timeText shows a length of time with three digits: 4.12µs, 85ms, 1.2s.
func timeText(d time.Duration) string {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
}
