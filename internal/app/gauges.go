package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/adapter"
)

// registerGauges adds what only the whole program knows to /metrics: which build it is, whether it
// can serve, and what the disk of the embedded store has left.
func (a *App) registerGauges(registry *prometheus.Registry) {
	auto := promauto.With(registry)
	auto.NewGauge(prometheus.GaugeOpts{
		Name: "andon_build_info", Help: "1, with the build in labels.",
		ConstLabels: prometheus.Labels{
			"version": a.Version.Version, "revision": a.Version.Revision, "goversion": a.Version.Go,
			"store": a.store.Capabilities().Name,
		},
	}).Set(1)
	m := meter{auto}
	m.gauge("andon_ready", "1 while the store can serve, 0 while it can't.", a.readyGauge)
	m.gauge("andon_clock_doubted",
		"1 while the clock has jumped ahead, so that nothing is deleted by it.",
		func() float64 { return oneIf(a.clock.Mark().Doubted != 0) })
	m.gauge("andon_store_damaged_files",
		"Files of the store of which something could not be read since it was opened.",
		func() float64 { return float64(len(a.store.Damage())) })
	auto.NewGauge(prometheus.GaugeOpts{
		Name: "andon_plain_http",
		Help: "1 where HTTP is served beyond loopback without TLS, so that the token passes in " +
			"clear, and plain_http does not allow it.",
	}).Set(oneIf(a.http.plain))
	registry.MustRegister(fleetGauges(a.store, a.Now, a.Log), a.calls.duration,
		a.calls.errors, engine(a.Config.Store, a.store), a.tasks.succeeded, a.tasks.period,
		a.tasks.failures, a.services.up, a.expiring)
	a.registerFeeds(registry)
	a.registerChannels(registry)
	a.registerSources(registry)
	// A feed that is in memory costs only once it is asked for.
	if able := a.store.Capabilities(); able.Changes && able.ChangesDurable {
		registry.MustRegister(changesKept(a.store))
	}
	if a.Config.Place() == adapter.Directory {
		registry.MustRegister(diskGauges(a.Config.Data, a.Config.Takes().Reserve))
		registry.MustRegister(a.ordered.waited, a.ordered.took)
	}
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// looked is a prometheus.Collector of what is looked at when it is asked.
type looked func(to chan<- prometheus.Metric)

// Describe says nothing: which series there are shows only when they are looked at.
func (looked) Describe(chan<- *prometheus.Desc) {}

func (l looked) Collect(to chan<- prometheus.Metric) { l(to) }

// meter shows what other packages count: each figure is read when it is asked for.
type meter struct{ promauto.Factory }

// meterOf is that of something that has a name.
func meterOf(to prometheus.Registerer, prefix, label, name string) meter {
	to = prometheus.WrapRegistererWith(prometheus.Labels{label: name}, to)
	return meter{promauto.With(prometheus.WrapRegistererWithPrefix(prefix, to))}
}

func (m meter) counter(name, help string, count func() int64) {
	m.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
		func() float64 { return float64(count()) })
}

func (m meter) gauge(name, help string, now func() float64) {
	m.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, now)
}

// changesKept shows what the store keeps of its feed of changes.
func changesKept(store andon.Store) looked {
	return func(to chan<- prometheus.Metric) {
		ctx, cancel := context.WithTimeout(context.Background(), margin)
		defer cancel()
		oldest, newest, err := store.ChangesKept(ctx, andon.DefaultTenant)
		if err != nil {
			return
		}
		to <- gaugeOf("andon_changes_newest_position", "Where the feed of changes ends.",
			float64(newest.Sequence))
		to <- gaugeOf("andon_changes_oldest_position", "The oldest position from which a reader "+
			"of the feed can go on; with one that is older it starts again.",
			float64(oldest.Sequence))
	}
}

type ordered struct{ waited, took prometheus.Histogram }

func newOrdered() ordered {
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "andon_store_order_" + name + "_seconds", Help: help,
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 10), // 10 µs to 2.6 s
		})
	}
	return ordered{
		waited: histogram("wait", "How long a write waited until it was its turn to be ordered."),
		took:   histogram("hold", "How long it then kept the writes after it waiting."),
	}
}

func (o ordered) observe(waited, took time.Duration) {
	o.waited.Observe(waited.Seconds())
	o.took.Observe(took.Seconds())
}

// readyGauge asks the store. A scrape that waited for a store which does not answer would lose all
// other metrics too, so the store gets as long as a scrape can spare.
func (a *App) readyGauge() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), margin)
	defer cancel()
	return oneIf(a.ready(ctx) == nil)
}

// diskGauges looks at the disk. One that does not answer is left out: a wrong figure would hide
// what is wrong.
func diskGauges(dir string, reserve adapter.Amount) looked {
	return func(to chan<- prometheus.Metric) {
		to <- gaugeOf("andon_disk_reserve_bytes", "Below so much free the store takes nothing ("+
			reserve.Key+").", float64(reserve.Bytes))
		disk, err := LookAtDisk(dir)
		if err != nil || disk.Unsupported {
			return
		}
		to <- gaugeOf("andon_disk_free_bytes", "What the disk of the store has left.",
			float64(disk.Free))
		to <- gaugeOf("andon_disk_size_bytes", "How large the disk of the store is.",
			float64(disk.Size))
	}
}

// gaugeOf is a gauge with its present value, for a collector that looks when it is asked.
func gaugeOf(name, help string, value float64) prometheus.Metric {
	return prometheus.MustNewConstMetric(
		prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, value)
}
