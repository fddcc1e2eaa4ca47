package measure

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// benchReport is all that was measured, and on what.
type benchReport struct {
	Version  client.Version `json:"version"`
	Machine  benchMachine   `json:"machine"`
	Devices  int            `json:"devices"`
	Events   int            `json:"events"` // before anything was measured
	Seed     uint64         `json:"seed"`
	Duration time.Duration  `json:"duration_ns"` // of each load
	Engines  []benchEngine  `json:"engines"`
	Rows     []bench.Row    `json:"rows"`
}

// benchEngine says what is behind the name of a store.
type benchEngine struct {
	Subject string `json:"subject"`
	Engine  string `json:"engine"` // with its version
}

// print prints the report. A CSV file has the rows alone; standard error says what they are of.
func (r *benchReport) print(p *command.Program, format string) error {
	switch format {
	case command.FormatJSON:
		return p.PrintJSON(r)
	case command.FormatCSV:
		r.printHead(draw.Printer{W: p.Stderr})
		s := command.NewCSVSink(p.Stdout, benchColumns(), true)
		for i := range r.Rows {
			if err := s.Put(&r.Rows[i]); err != nil {
				return err
			}
		}
		return s.End()
	}
	out := p.Printer()
	r.printHead(out)
	out.Line("")
	out.Table(r.table())
	return nil
}

func (r *benchReport) printHead(out draw.Printer) {
	out.Line("%s", command.VersionLine(r.Version))
	out.Line("%s", r.Machine)
	out.Line("%s devices, %s events at first, seed %d, %s a load", draw.Grouped(r.Devices),
		draw.Grouped(r.Events), r.Seed, r.Duration)
	for _, e := range r.Engines {
		out.Line("%s: %s", e.Subject, e.Engine)
	}
}

// table is for people.
func (r *benchReport) table() [][]draw.Cell {
	rows := [][]draw.Cell{draw.Texts("SUBJECT", "LOAD", "IN FLIGHT", "OPS/S", "EVENTS/S", "P50",
		"P99", "P99.9", "OF CEILING", "CEILING P99", "BYTES/EVENT", "CPU", "WRITTEN/EVENT",
		"MEMORY", "OF RAW")}
	for _, row := range r.Rows {
		rows = append(rows, draw.Texts(row.Subject, row.Load, strconv.Itoa(row.InFlight),
			rateText(row.OpsRate), maybe(row.EventsRate, rateText), spellText(row.P50),
			spellText(row.P99), spellText(row.P999), maybe(row.OfCeiling, ratioText),
			maybe(row.CeilingP99, spellText),
			maybe(row.BytesPerEvent, rateText), maybe(row.CPU, spellText),
			maybe(row.WrittenPerEvent, rateText), maybe(row.Memory, memoryText),
			maybe(row.OfRaw, ratioText)))
	}
	used := slices.ContainsFunc(r.Rows, func(row bench.Row) bool { return row.CPU != nil })
	for i, row := range rows {
		if !used { // only a server says what it used
			rows[i] = row[:len(row)-4]
		}
		for j := 2; j < len(row); j++ { // behind the names
			row[j].Right = true
		}
	}
	return rows
}

// benchColumns are the columns of CSV, in the units of JSON.
func benchColumns() []command.Column[bench.Row] {
	return command.Fields[bench.Row]("subject", "load", "in_flight", "ops", "ops_per_second",
		"events_per_second", "p50_ns", "p99_ns", "ceiling_events_per_second", "of_ceiling",
		"ceiling_p50_ns", "ceiling_p99_ns", "bytes_per_event", "p999_ns", "cpu_ns",
		"written_per_event", "memory_bytes", "of_raw")
}

// maybe is the text of what was measured; what was not is empty.
func maybe[T any](x *T, text func(T) string) string {
	if x == nil {
		return ""
	}
	return text(*x)
}

func memoryText(n int64) string { return draw.Bytes(uint64(n)) }

func ratioText(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// rateText shows no more digits than are worth reading.
func rateText(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x >= 100:
		return draw.Grouped(int(x + 0.5))
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// spellText shows a length of time with three digits: 4.12µs, 85.0ms, 1.20s.
func spellText(d time.Duration) string {
	units := []struct {
		name string
		size time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}}
	for _, u := range units {
		if d < u.size {
			continue
		}
		x := float64(d) / float64(u.size)
		digits := 2
		for edge := 9.995; digits > 0 && x >= edge; edge *= 10 {
			digits--
		}
		return strconv.FormatFloat(x, 'f', digits, 64) + u.name
	}
	return fmt.Sprintf("%dns", d.Nanoseconds())
}
