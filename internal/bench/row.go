package bench

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// Row is what one target reached under one load. What is nil was not measured.
type Row struct {
	Subject string `json:"subject"`
	Kind    string `json:"kind"` // of the load: Fill, Query and so on
	Load    string `json:"load"`
	// InFlight is how many operations were under way concurrently.
	InFlight int   `json:"in_flight"`
	Ops      int64 `json:"ops"`
	// OpsRate is the median of the turns; the times are of all operations.
	OpsRate float64       `json:"ops_per_second"`
	P50     time.Duration `json:"p50_ns"`
	P99     time.Duration `json:"p99_ns"`
	P999    time.Duration `json:"p999_ns"`
	// EventsRate is events, or readings, written in a second; nil where nothing is written.
	EventsRate *float64 `json:"events_per_second"`
	// CeilingRate and CeilingP99 are the ceiling's in the same run, and OfCeiling is the median of
	// what each turn reached of the ceiling's.
	CeilingRate *float64       `json:"ceiling_events_per_second"`
	CeilingP99  *time.Duration `json:"ceiling_p99_ns"`
	OfCeiling   *float64       `json:"of_ceiling"`
	// Open says that operations began at a fixed rate, and that their times count from when they
	// were due.
	Open bool `json:"open_loop,omitempty"`
	// BytesPerEvent is what the target's files grew by for an event.
	BytesPerEvent *float64 `json:"bytes_per_event"`
	// WrittenPerEvent is the bytes that a server wrote into all its files for an event.
	WrittenPerEvent *float64 `json:"written_per_event,omitempty"`
	// CPU is the processor time of a server for an event that is written, or for a query.
	CPU *time.Duration `json:"cpu_ns,omitempty"`
	// Memory is the resident memory of a server after the load.
	Memory *int64 `json:"memory_bytes,omitempty"`

	rates []float64 // of the turns
}

func (n *lane) row(ctx context.Context) (Row, error) {
	l := n.load
	r := Row{Subject: n.Name, Kind: l.Kind, Load: l.Name, InFlight: l.Callers, Open: l.Share > 0}
	var all histogram
	for _, t := range n.turns {
		all.merge(&t.times)
		r.rates = append(r.rates, t.rate())
	}
	r.Ops, r.OpsRate = all.total, median(r.rates)
	r.P50, r.P99, r.P999 = all.quantile(0.5), all.quantile(0.99), all.quantile(0.999)
	if l.Items > 0 {
		r.EventsRate = new(r.OpsRate * float64(l.Items))
	}
	after, err := n.usage(ctx, l.Items > 0)
	if err == nil {
		r.use(n.before, after, float64(n.next.Load())*float64(max(l.Items, 1)))
	}
	return r, err
}

// use notes what was used for so many events or queries. Where the files became smaller, because
// they were compacted meanwhile, nothing is noted of them.
func (r *Row) use(before, after Usage, count float64) {
	if after.CPU > 0 {
		r.CPU = new(time.Duration(float64(after.CPU-before.CPU) / count))
	}
	if after.Memory > 0 {
		r.Memory = new(after.Memory)
	}
	if r.EventsRate != nil && after.Written > 0 {
		r.WrittenPerEvent = new(float64(after.Written-before.Written) / count)
	}
	if r.EventsRate != nil && after.Kept > before.Kept {
		r.BytesPerEvent = new(float64(after.Kept-before.Kept) / count)
	}
}

// Reached is what a row reached of another one of the same load: the median of what each turn
// reached of the other's turn.
func (r *Row) Reached(other *Row) float64 {
	parts := make([]float64, len(r.rates))
	for i, rate := range r.rates {
		parts[i] = rate / other.rates[i]
	}
	return median(parts)
}

// Compare returns the rows of a subject, each with what its ceiling reached under the same load.
func Compare(rows []Row, subject, ceiling string) (compared []Row) {
	for _, r := range rows {
		if r.Subject != subject {
			continue
		}
		for i := range rows {
			c := &rows[i]
			if c.Subject == ceiling && c.Load == r.Load && c.InFlight == r.InFlight {
				r.CeilingRate, r.CeilingP99 = c.EventsRate, new(c.P99)
				r.OfCeiling = new(r.Reached(c))
			}
		}
		compared = append(compared, r)
	}
	return compared
}

// median of at least one number.
func median(numbers []float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func (t *Target) usage(ctx context.Context, writes bool) (Usage, error) {
	if t.Usage == nil {
		return Usage{}, nil
	}
	return t.Usage(ctx, writes)
}

// Table returns rows as text, the headings first. ratio is the heading of what is reached of
// another target. A column that no row has anything in is left out.
func Table(rows []Row, ratio string) [][]string {
	all := [][]string{{"SUBJECT", "LOAD", "IN FLIGHT", "OPS/S", "EVENTS/S", "P50", "P99", "P99.9",
		ratio, "CEILING P99", "BYTES/EVENT", "CPU", "WRITTEN/EVENT", "MEMORY"}}
	mebibytes := func(n int64) string { return grouped(int(n>>20)) + " MiB" }
	for i := range rows {
		r := &rows[i]
		all = append(all, []string{
			r.Subject, r.Load, strconv.Itoa(r.InFlight), rateText(r.OpsRate),
			maybe(r.EventsRate, rateText), timeText(r.P50), timeText(r.P99), timeText(r.P999),
			maybe(r.OfCeiling, rateText), maybe(r.CeilingP99, timeText),
			maybe(r.BytesPerEvent, rateText), maybe(r.CPU, timeText),
			maybe(r.WrittenPerEvent, rateText), maybe(r.Memory, mebibytes),
		})
	}
	shown := make([][]string, len(all))
	for column := range all[0] {
		isEmpty := true
		for _, row := range all[1:] {
			isEmpty = isEmpty && row[column] == ""
		}
		for i := 0; i < len(all) && !isEmpty; i++ {
			shown[i] = append(shown[i], all[i][column])
		}
	}
	return shown
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
		return grouped(int(x + 0.5))
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// timeText shows a length of time with three digits: 4.12µs, 85ms, 1.2s.
func timeText(d time.Duration) string {
	unit := time.Duration(1)
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}
