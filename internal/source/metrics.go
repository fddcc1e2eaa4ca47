package source

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count what sources do.
type Metrics struct {
	messages, entries, rejected *prometheus.CounterVec
	behind                      *prometheus.GaugeVec
}

// NewMetrics makes the metrics of all sources.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "andon_source_" + name + "_total", Help: help,
		}, []string{"source"})
	}
	m := &Metrics{
		messages: counter("messages", "Messages of a source that were dealt with."),
		entries:  counter("entries", "Entries from a source that were kept."),
		rejected: counter("rejected", "Entries from a source that were refused."),
		behind: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "andon_source_behind_seconds",
			Help: "How long ago the message was sent that a source dealt with last.",
		}, []string{"source"}),
	}
	registry.MustRegister(m.messages, m.entries, m.rejected, m.behind)
	return m
}

// begin shows the counters of a source before it counts.
func (m *Metrics) begin(name string) { m.count(name, 0, 0, 0, 0) }

func (m *Metrics) count(name string, messages, entries, rejected int, behind time.Duration) {
	m.messages.WithLabelValues(name).Add(float64(messages))
	m.entries.WithLabelValues(name).Add(float64(entries))
	m.rejected.WithLabelValues(name).Add(float64(rejected))
	m.behind.WithLabelValues(name).Set(behind.Seconds())
}
