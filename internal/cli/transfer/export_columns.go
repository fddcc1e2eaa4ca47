package transfer

import (
	"math"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
)

// exportedReading are the columns of readings, with numbers as a spreadsheet shows them.
func exportedReading(metrics []andon.MetricName) []command.Column[andon.Reading] {
	columns := command.ReadingColumns(metrics)
	first := len(columns) - 1 - len(metrics) // the last is the metadata, and before it the metrics
	for i, name := range metrics {
		columns[first+i].Text = func(r *andon.Reading) string { return plainMetric(r, name) }
	}
	return columns
}

func plainMetric(r *andon.Reading, name andon.MetricName) string {
	if x, ok := r.Metrics.Get(name); ok {
		return plainNumber(x)
	}
	return ""
}

// plainNumber writes a number without an exponent, where that is no longer than a person can read,
// as ECMAScript and encoding/json do: a counter of 1234567 is no 1.234567e+06.
func plainNumber(x float64) string {
	const small, large = 1e-6, 1e21
	if size := math.Abs(x); x != 0 && (size < small || size >= large) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
