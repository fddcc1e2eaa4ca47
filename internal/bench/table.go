package bench

import (
	"strconv"
	"time"
)

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
