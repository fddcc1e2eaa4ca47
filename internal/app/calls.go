package app

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/wrap"
)

// calls measures the calls of the store, below what Andon does around them.
type calls struct {
	store    string
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	methods  sync.Map // the prometheus.Observer of each method, since a look-up by labels is slow
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

// hook is a wrap.Hook.
func (c *calls) hook(_ context.Context, method string) (end func(error), err error) {
	took, ok := c.methods.Load(method)
	if !ok {
		took, _ = c.methods.LoadOrStore(method, c.duration.WithLabelValues(c.store, method))
	}
	begun := time.Now()
	return func(err error) {
		took.(prometheus.Observer).Observe(time.Since(begun).Seconds())
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

// engine shows the figures that the store's engine keeps of itself.
type engine struct {
	name  string
	store andon.Store
}

// Describe is of prometheus.Collector.
func (e engine) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(e, to) }

// Collect is of prometheus.Collector. A store without figures shows none, nor does one that is
// closed.
func (e engine) Collect(to chan<- prometheus.Metric) {
	tell := func(name, help string, value float64) {
		kind := prometheus.GaugeValue
		if strings.HasSuffix(name, "_total") {
			kind = prometheus.CounterValue
		}
		desc := prometheus.NewDesc("andon_"+e.name+"_"+name, help, nil, nil)
		to <- prometheus.MustNewConstMetric(desc, kind, value)
	}
	ask := func(f wrap.Figured) error {
		f.Figures(tell)
		return nil
	}
	_ = wrap.Ask(context.Background(), e.store, "Figures", "has no figures", ask)
}
