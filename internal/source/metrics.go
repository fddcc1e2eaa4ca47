package source

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics count what sources do.
type Metrics struct {
	messages, entries, rejected *prometheus.CounterVec
	behind                      *prometheus.GaugeVec
}

// NewMetrics makes the metrics of all sources.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	auto, label := promauto.With(registry), []string{"source"}
	counter := func(name, help string) *prometheus.CounterVec {
		o := prometheus.CounterOpts{Name: "andon_source_" + name + "_total", Help: help}
		return auto.NewCounterVec(o, label)
	}
	return &Metrics{
		messages: counter("messages", "Messages of a source that were dealt with."),
		entries:  counter("entries", "Entries from a source that were kept."),
		rejected: counter("rejected", "Entries from a source that were refused."),
		behind: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "andon_source_behind_seconds",
			Help: "How long ago the message was sent that a source dealt with last.",
		}, label),
	}
}

func (m *Metrics) count(name string, messages, entries, rejected int, behind time.Duration) {
	m.messages.WithLabelValues(name).Add(float64(messages))
	m.entries.WithLabelValues(name).Add(float64(entries))
	m.rejected.WithLabelValues(name).Add(float64(rejected))
	m.behind.WithLabelValues(name).Set(behind.Seconds())
}
