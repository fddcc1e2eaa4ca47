package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
)

// calls measures the calls of the store, below what Andon does around them.
type calls struct {
	store    string
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
}

func newCalls(store string) *calls {
	return &calls{
		store: store,
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "andon_store_call_duration_seconds",
			Help: "How long calls of the store took, by method; of a list until its reader had " +
				"read it.",
			Buckets: prometheus.ExponentialBuckets(100e-6, 4, 9), // 100 µs to 6.6 s
		}, []string{"store", "method"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "andon_store_errors_total",
			Help: "Calls of the store that ended with an error, by method and kind of error " +
				"(canceled: the caller was gone).",
		}, []string{"store", "method", "kind"}),
	}
}

// hook measures one call; it is a wrap.Hook.
func (c *calls) hook(_ context.Context, method string) (end func(error), err error) {
	begun := time.Now()
	return func(err error) {
		c.duration.WithLabelValues(c.store, method).Observe(time.Since(begun).Seconds())
		if err != nil {
			c.errors.WithLabelValues(c.store, method, kindLabel(err)).Inc()
		}
	}, nil
}

func kindLabel(err error) string {
	if errors.Is(err, context.Canceled) {
		return "canceled"
	}
	return strings.ReplaceAll(andon.KindOf(err).String(), " ", "_")
}

// engine shows the figures that the store's engine keeps of itself. A store without figures shows
// none, nor does one that is closed.
func engine(name string, store andon.Store) looked {
	return func(to chan<- prometheus.Metric) {
		report := func(figure, help string, value float64, labels ...string) {
			kind := prometheus.GaugeValue
			if strings.HasSuffix(figure, "_total") {
				kind = prometheus.CounterValue
			}
			series := prometheus.Labels{}
			for i := 0; i < len(labels); i += 2 {
				series[labels[i]] = labels[i+1]
			}
			desc := prometheus.NewDesc("andon_"+name+"_"+figure, help, nil, series)
			to <- prometheus.MustNewConstMetric(desc, kind, value)
		}
		store.Figures(report)
	}
}
