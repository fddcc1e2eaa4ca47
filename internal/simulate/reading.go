package simulate

import (
	"fmt"
	"math"

	"github.com/andonhq/andon"
)

// gauge is a metric of every machine, and its values at rest and at the end of what one bears.
type gauge struct {
	metric     andon.MetricName
	unit       string
	rest, most float64
}

// gauges returns the metrics by name, as readings have them.
func gauges() [3]gauge {
	return [...]gauge{
		{"current", "A", 6, 40},
		{"temperature", "°C", 28, 110},
		{"vibration", "mm/s", 0.4, 12},
	}
}

// anyCause returns the metric that a trouble shows in: it follows the strain.
func (d dice) anyCause() *gauge {
	all := gauges()
	return &all[d.rand.IntN(len(all))]
}

// value returns what a gauge shows at a strain, to two places.
func (g *gauge) value(strain float64) float64 {
	return math.Round((g.rest+(g.most-g.rest)*strain)*100) / 100
}

const (
	sympathy  = 0.2 // of the strain's rise, in the metrics that it is not about
	unclarity = 0.01
)

// measure returns what a machine shows. Only the metric that a trouble is about rises to the
// limits; the others rise a little with it.
func (f *Fleet) measure(m *machine) andon.Metrics {
	all := gauges()
	metrics := make(andon.Metrics, len(all))
	for i := range all {
		strain := m.usual + (m.strain-m.usual)*sympathy + f.noise(unclarity)
		if m.cause != nil && m.cause.metric == all[i].metric {
			strain = m.strain
		}
		metrics[i] = andon.Metric{Name: all[i].metric, Value: all[i].value(max(0, strain))}
	}
	return metrics
}

// explain returns why a machine is in its state, by what it measured.
func (m *machine) explain(metrics andon.Metrics) string {
	if m.level == 0 {
		return ""
	}
	l := levels()[m.level]
	if m.cause == nil {
		return l.does + "recovering"
	}
	g := m.cause
	value, _ := metrics.Get(g.metric)
	return fmt.Sprintf("%s%s %.1f %s, limit %.1f", l.does, g.metric, value, g.unit,
		g.value(l.limit))
}
