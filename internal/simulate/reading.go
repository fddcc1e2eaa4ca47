package simulate

import (
	"fmt"
	"math"

	"github.com/andonhq/andon"
)

// cause is what a trouble shows in: the metric that follows the strain.
type cause struct{ metric andon.MetricName }

// gauge is a metric of every machine, and its values at rest and at the end of what one bears.
type gauge struct {
	cause
	unit       string
	rest, most float64
}

// gauges returns the metrics by name, as readings have them.
func gauges() [3]gauge {
	return [...]gauge{
		{cause{"current"}, "A", 6, 40},
		{cause{"temperature"}, "°C", 28, 110},
		{cause{"vibration"}, "mm/s", 0.4, 12},
	}
}

func (d dice) anyCause() *cause {
	all := gauges()
	return &all[d.rand.IntN(len(all))].cause
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
	for i, g := range gauges() {
		if g.metric == m.cause.metric {
			return fmt.Sprintf("%s%s %.1f %s, limit %.1f",
				l.does, g.metric, metrics[i].Value, g.unit, g.value(l.limit))
		}
	}
	return ""
}
