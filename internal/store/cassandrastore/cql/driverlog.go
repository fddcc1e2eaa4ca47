package cql

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// driverLog writes what the driver logs into the log of Andon, one level lower: that a node is away
// is a matter of the cluster, and what Andon can't do because of it is reported where it matters.
type driverLog struct{ log *slog.Logger }

func (d driverLog) say(level slog.Level, text string, fields []gocql.LogField) {
	args := make([]any, 0, len(fields))
	for _, f := range fields {
		args = append(args, slog.String(f.Name, f.Value.String()))
	}
	// The driver has no context to give.
	d.log.Log(context.Background(), level, "cassandra driver: "+strings.ToLower(text), args...)
}

// Error implements gocql.StructuredLogger.
func (d driverLog) Error(text string, fields ...gocql.LogField) {
	d.say(slog.LevelWarn, text, fields)
}

// Warning implements gocql.StructuredLogger.
func (d driverLog) Warning(text string, fields ...gocql.LogField) {
	d.say(slog.LevelInfo, text, fields)
}

// Info implements gocql.StructuredLogger.
func (d driverLog) Info(text string, fields ...gocql.LogField) {
	d.say(slog.LevelDebug, text, fields)
}

// Debug implements gocql.StructuredLogger.
func (d driverLog) Debug(text string, fields ...gocql.LogField) {
	d.say(slog.LevelDebug-1, text, fields)
}

// Sorted returns the keys of a map in order.
func Sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
