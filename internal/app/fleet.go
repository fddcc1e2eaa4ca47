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

// fleetGauges count devices when they are asked. Where the store does not answer nothing is shown:
// an alert on a figure of before would be wrong, and andon_ready says why.
func fleetGauges(store andon.Store, now func() andon.Time, log *slog.Logger) looked {
	var mu sync.Mutex
	var counted andon.Time // when
	var metrics []prometheus.Metric
	return func(to chan<- prometheus.Metric) {
		mu.Lock()
		defer mu.Unlock()
		asked := now()
		stale := asked < counted || asked.Sub(counted) >= andon.DurationOf(fleetAge)
		if metrics == nil || stale {
			ctx, cancel := context.WithTimeout(context.Background(), margin)
			defer cancel()
			found, err := countFleets(ctx, store, asked)
			if err != nil {
				log.Warn("devices can't be counted for /metrics", "error", err)
				return
			}
			counted, metrics = asked, found
		}
		for _, m := range metrics {
			to <- m
		}
	}
}

// countFleets asks the store for the devices of every tenant.
func countFleets(
	ctx context.Context, store andon.Store, now andon.Time,
) (metrics []prometheus.Metric, err error) {
	tenants, err := store.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	devices, silent := map[[2]string]int{}, map[string]int{}
	for i, t := range tenants {
		label := string(t.ID)
		if i >= tenantsShown {
			label = others
		}
		counts, err := store.Counts(ctx, t.ID, andon.SilentBefore(now, t.SilentAfter))
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
			if label == others || !t.States.Contains(n.State) {
				state = others
			}
			devices[[2]string{label, state}] += n.Count
			silent[label] += n.Silent
		}
	}
	gauge := func(name, help string, n int, labels prometheus.Labels) {
		desc := prometheus.NewDesc(name, help, nil, labels)
		metrics = append(metrics,
			prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n)))
	}
	for of, n := range devices { // the registry sorts them
		gauge("andon_devices", "Devices that are in a state now, by tenant. States outside the "+
			"tenant's set are counted together as "+others+", and so are tenants beyond the first "+
			"1,000.", n, prometheus.Labels{"tenant": of[0], "state": of[1]})
	}
	for tenant, n := range silent {
		gauge("andon_devices_silent", "Devices that sent nothing for longer than their tenant's "+
			"silent_after.", n, prometheus.Labels{"tenant": tenant})
	}
	return metrics, nil
}
