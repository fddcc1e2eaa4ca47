package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
)

// What /metrics shows of the fleets themselves, so that an alert manager can work from it. The
// labels are bounded: a state that is in no set and a tenant beyond the first ones are counted
// together under others, which no label of its own can be mistaken for.
const (
	tenantsShown = 1_000
	others       = "(others)"
)

// fleetAge is how old what is shown may be: several scrapers, and impatient ones, cost no more than
// one.
const fleetAge = 5 * time.Second

// fleetGauges count devices when they are asked.
type fleetGauges struct {
	store   andon.Store
	now     func() andon.Time
	log     *slog.Logger
	devices *prometheus.Desc
	silent  *prometheus.Desc

	mu      sync.Mutex
	counted andon.Time // when
	metrics []prometheus.Metric
}

func newFleetGauges(store andon.Store, now func() andon.Time, log *slog.Logger) *fleetGauges {
	return &fleetGauges{
		store: store, now: now, log: log,
		devices: prometheus.NewDesc("andon_devices",
			"Devices that are in a state now, by tenant. States outside the tenant's set are "+
				"counted together as "+others+", and so are tenants beyond the first 1,000.",
			[]string{"tenant", "state"}, nil),
		silent: prometheus.NewDesc("andon_devices_silent",
			"Devices that sent nothing for longer than their tenant's silent_after.",
			[]string{"tenant"}, nil),
	}
}

func (g *fleetGauges) Describe(to chan<- *prometheus.Desc) {
	to <- g.devices
	to <- g.silent
}

// Collect implements prometheus.Collector. Where the store does not answer nothing is shown: an
// alert on a figure of before would be wrong, and andon_ready says why.
func (g *fleetGauges) Collect(to chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	stale := now < g.counted || now.Sub(g.counted) >= andon.DurationOf(fleetAge)
	if g.metrics == nil || stale {
		ctx, cancel := context.WithTimeout(context.Background(), margin)
		defer cancel()
		metrics, err := g.count(ctx, now)
		if err != nil {
			g.log.Warn("devices can't be counted for /metrics", "error", err)
			return
		}
		g.counted, g.metrics = now, metrics
	}
	for _, m := range g.metrics {
		to <- m
	}
}

// count asks the store for the devices of every tenant.
func (g *fleetGauges) count(ctx context.Context, now andon.Time) ([]prometheus.Metric, error) {
	tenants, err := g.store.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	devices, silent := map[[2]string]int{}, map[string]int{}
	for i, t := range tenants {
		label := string(t.ID)
		if i >= tenantsShown {
			label = others
		}
		counts, err := g.store.Counts(ctx, t.ID, andon.SilentBefore(now, t.SilentAfter))
		if andon.KindOf(err) == andon.NotFound && err != nil {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		silent[label] += 0
		for _, def := range t.States.Defs() {
			if label != others { // a state without devices is 0, not absent
				devices[[2]string{label, string(def.Name)}] = 0
			}
		}
		for _, n := range counts {
			state := string(n.State)
			if label == others || !t.States.Has(n.State) {
				state = others
			}
			devices[[2]string{label, state}] += n.Count
			silent[label] += n.Silent
		}
	}
	return g.show(devices, silent), nil
}

func (g *fleetGauges) show(devices map[[2]string]int, silent map[string]int) []prometheus.Metric {
	var metrics []prometheus.Metric
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		m := prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
		metrics = append(metrics, m)
	}
	for of, n := range devices { // the registry sorts them
		gauge(g.devices, n, of[0], of[1])
	}
	for tenant, n := range silent {
		gauge(g.silent, n, tenant)
	}
	return metrics
}
